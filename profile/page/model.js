// What was sampled: the tree of calls, and how many samples of those that are selected each has.

class Model {
  /** `data`: see profile/html.hpp. */
  constructor(data) {
    this.data = data;
    this.size = data.frames.length + 1;
    this.callers = new Int32Array(this.size);
    this.frames = new Int32Array(this.size);
    this.depths = new Int32Array(this.size);
    for (let call = 1; call < this.size; ++call) {
      this.callers[call] = call - data.back[call - 1];
      this.frames[call] = data.frames[call - 1];
      this.depths[call] = this.depths[this.callers[call]] + 1;
    }
    this.sortChildren();
    this.select(null, "all");
  }

  /** The children of each call by name, as flame graphs have them: alike is side by side. */
  sortChildren() {
    const names = this.data.names;
    const byName = Array.from(names.keys()).sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
    const ranks = new Int32Array(names.length);
    byName.forEach((frame, rank) => (ranks[frame] = rank));
    const calls = Int32Array.from({ length: this.size - 1 }, (_, at) => at + 1);
    const named = sortByNumber(calls, (call) => ranks[this.frames[call]], names.length);
    const sorted = sortByNumber(named.sorted, (call) => this.callers[call], this.size);
    this.childBegins = sorted.begins;
    this.sortedChildren = sorted.sorted;
  }

  children(call) {
    return this.sortedChildren.subarray(this.childBegins[call], this.childBegins[call + 1]);
  }

  /** Counts the samples of `thread` (a place in data.threads; null: all) in `state` (all, running, waiting). */
  select(thread, state) {
    this.self = new Float64Array(this.size);
    this.total = new Float64Array(this.size);
    this.waited = new Float64Array(this.size);
    const counts = this.data.counts;
    for (let at = 0; at < counts.length; at += 4) {
      const [call, itsThread, waiting, samples] = counts.slice(at, at + 4);
      if (thread !== null && itsThread !== thread) continue;
      if (state !== "all" && (state === "waiting") !== (waiting === 1)) continue;
      this.self[call] += samples;
      this.total[call] += samples;
      if (waiting) this.waited[call] += samples;
    }
    for (let call = this.size - 1; call > ROOT; --call) {
      this.total[this.callers[call]] += this.total[call];
      this.waited[this.callers[call]] += this.waited[call];
    }
  }

  /** Which frames `expression` finds, and how many of the selected samples have one in their stacks. */
  search(expression) {
    const names = this.data.names;
    const frames = Uint8Array.from(names, (name) => (expression.test(name) ? 1 : 0));
    const within = new Uint8Array(this.size);
    const found = new Set();
    let samples = 0;
    for (let call = 1; call < this.size; ++call) {
      const inCaller = within[this.callers[call]];
      const matches = frames[this.frames[call]];
      within[call] = inCaller | matches;
      if (matches && this.total[call] > 0) found.add(this.frames[call]);
      if (matches && !inCaller) samples += this.total[call];
    }
    return { frames, samples, count: found.size };
  }

  name(call) {
    return call === ROOT ? `${this.data.process} (pid ${this.data.pid})` : this.data.names[this.frames[call]];
  }

  module(call) {
    return call === ROOT ? "" : this.data.modules[this.data.frameModules[this.frames[call]]];
  }

  kind(call) {
    return call === ROOT ? "all" : this.data.kinds[this.data.frameKinds[this.frames[call]]];
  }

  /** From the root's child to `call`. */
  path(call) {
    const calls = [];
    for (; call !== ROOT; call = this.callers[call]) calls.push(call);
    return calls.reverse();
  }

  seconds(samples) {
    return (samples * this.data.interval) / 1e9;
  }
}

/** `items` by a number below `limit`, those of the same number in the order they had; and where each number begins. */
function sortByNumber(items, numberOf, limit) {
  const begins = new Int32Array(limit + 1);
  for (const item of items) ++begins[numberOf(item) + 1];
  for (let number = 0; number < limit; ++number) begins[number + 1] += begins[number];
  const next = begins.slice();
  const sorted = new Int32Array(items.length);
  for (const item of items) sorted[next[numberOf(item)]++] = item;
  return { sorted, begins };
}
