// What happened, as data: entries of the list, series of values, and counts within stretches of time.

/** Shorter waits and pauses are drawn, but are no entries of the list. */
const LEAST_WAIT = 10;
const LEAST_PAUSE = 50;

/** The kinds of entries. `colour` is one for light and one for dark. */
const KINDS = {
  exception: { name: "exceptions", colour: ["#cf222e", "#ff7b72"] },
  Critical: { name: "critical log entries", colour: ["#a40e26", "#ffa198"] },
  Error: { name: "errors in the log", colour: ["#bc4c00", "#ffa657"] },
  Warning: { name: "warnings in the log", colour: ["#9a6700", "#e3b341"] },
  wait: { name: `waits for locks from ${LEAST_WAIT} ms on`, colour: ["#8250df", "#d2a8ff"] },
  pause: { name: `pauses from ${LEAST_PAUSE} ms on`, colour: ["#0969da", "#79c0ff"] },
  starved: { name: "starved thread pool", colour: ["#bf3989", "#f778ba"] },
};

class Model {
  /** `data`: see timeline/timeline.hpp. */
  constructor(data) {
    this.data = data;
    this.duration = Math.max(data.duration, 1);
    this.entries = this.listEntries().sort((a, b) => a.time - b.time);
    this.samples = [];
    for (let at = 0; at < data.samples.length; at += 3) this.samples.push({ time: data.samples[at], stack: data.samples[at + 2] });
  }

  /** The stacks that were sampled from `from` to `to`. */
  sampled(from, to) {
    return this.samples.filter(({ time }) => time >= from && time <= to).map(({ stack }) => this.stack(stack));
  }

  listEntries() {
    const { exceptions, logs, lock_waits: waits, pauses, starved } = this.data;
    return [
      ...exceptions.map((each) => ({ kind: "exception", time: each.time, text: `${each.type}: ${each.message}`, stack: each.stack })),
      ...logs.map((each) => ({ kind: each.level in KINDS ? each.level : "Warning", time: each.time, text: `${each.category}: ${each.message}`, stack: null })),
      ...waits.filter((each) => each.length >= LEAST_WAIT)
        .map((each) => ({ kind: "wait", time: each.time, text: `thread ${each.thread} waited ${milliseconds(each.length)} for a lock`, stack: each.stack })),
      ...pauses.filter((each) => each.length >= LEAST_PAUSE)
        .map((each) => ({ kind: "pause", time: each.time, text: `all threads stood still for ${milliseconds(each.length)}: a collection of generation ${each.generation}`, stack: null })),
      ...starved.map((time) => ({ kind: "starved", time, text: "the thread pool added a thread, because none of its threads got on", stack: null })),
    ];
  }

  /** The names on a stack, the innermost first. */
  stack(number) {
    return this.data.stacks[number].map((frame) => this.data.frames[frame]);
  }

  /** Pairs of time and value, without unknown ones. */
  series(sign) {
    const { time } = this.data.vitals;
    return this.data.vitals[sign].map((value, at) => [time[at], value]).filter(([, value]) => value !== null);
  }

  /** Sums of `weightOf` the items in `count` equal parts of the time from `from` to `to`. */
  sums(items, weightOf, from, to, count) {
    const sums = new Float64Array(count);
    for (const item of items) {
      const part = Math.floor(((item.time - from) / (to - from)) * count);
      if (part >= 0 && part < count) sums[part] += weightOf(item);
    }
    return sums;
  }

  /** The entries from `from` to `to` of `kind` ("": all) that `expression` finds (null: all). */
  select(from, to, kind, expression) {
    return this.entries.filter((each) => each.time >= from && each.time <= to && (kind === "" || each.kind === kind)
      && (expression === null || expression.test(each.text) || (each.stack !== null && this.stack(each.stack).some((name) => expression.test(name)))));
  }
}

function milliseconds(length) {
  if (length >= 10_000) return `${(length / 1000).toFixed(1)} s`;
  return length >= 10 ? `${length.toFixed(0)} ms` : `${length.toFixed(2)} ms`;
}
