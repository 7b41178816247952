// The calls of the samples in a stretch of time, as a tree that Graph draws.

class Calls {
  /** `stacks`: one for each sample, the innermost name first. `process`: what stands for all of them. */
  constructor(process, stacks) {
    this.process = process;
    this.names = [];
    this.frames = [0];
    this.callers = [ROOT];
    this.depths = [0];
    this.total = [0];
    this.self = [0];
    this.callees = [new Map()];
    this.numbers = new Map();
    for (const stack of stacks) this.add(stack);
    // Nothing of this waited.
    this.waited = new Float64Array(this.total.length);
  }

  add(stack) {
    let call = ROOT;
    ++this.total[ROOT];
    for (let at = stack.length - 1; at >= 0; --at) {
      call = this.callee(call, stack[at]);
      ++this.total[call];
    }
    ++this.self[call];
  }

  callee(caller, name) {
    const known = this.callees[caller].get(name);
    if (known !== undefined) return known;
    const call = this.frames.length;
    this.callees[caller].set(name, call);
    if (!this.numbers.has(name)) {
      this.numbers.set(name, this.names.length);
      this.names.push(name);
    }
    this.frames.push(this.numbers.get(name));
    this.callers.push(caller);
    this.depths.push(this.depths[caller] + 1);
    this.total.push(0);
    this.self.push(0);
    this.callees.push(new Map());
    return call;
  }

  /** By name, as flame graphs have them: alike is side by side. */
  children(call) {
    return [...this.callees[call].entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, child]) => child);
  }

  name(call) {
    return call === ROOT ? this.process : this.names[this.frames[call]];
  }

  kind(call) {
    if (call === ROOT) return "all";
    if (/^lib(coreclr|clr[a-z]+|System[.A-Za-z]*)\.so\b/.test(this.name(call))) return "runtime";
    return /\.so\b|^0x|\.\?$/.test(this.name(call)) ? "native" : "managed";
  }

  /** From the root's child to `call`. */
  path(call) {
    const calls = [];
    for (; call !== ROOT; call = this.callers[call]) calls.push(call);
    return calls.reverse();
  }

  /** For each frame, 1 if `expression` finds it. */
  search(expression) {
    return Uint8Array.from(this.names, (name) => (expression.test(name) ? 1 : 0));
  }
}
