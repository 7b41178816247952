// The drawing: lanes one below the other, all on one axis of time.

const LANE = 62;
const AXIS = 24;
const GAP = 8;
/** Where the drawing begins, behind the names of the lanes. */
const LEFT = 164;
const RIGHT = 14;
const BAR = 4;
const COLOURS = { first: ["#0969da", "#58a6ff"], second: ["#1a7f37", "#3fb950"] };
const MIB = 1024 * 1024;

const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
const count = (items) => ({ items, weightOf: () => 1 });

/** What is drawn: lines of values, or bars of sums. */
function lanesOf(model) {
  const { exceptions, logs, lock_waits: waits, pauses, starved } = model.data;
  const line = (name, sign, colour, scale = 1) => ({ name, colour, values: model.series(sign).map(([time, value]) => [time, value / scale]) });
  const lengths = (items) => ({ items, weightOf: (item) => item.length });
  const ofLevel = (level) => logs.filter((each) => each.level === level);
  return [
    { name: "Processor", unit: "% of one", lines: [line("", "cpu_percent", COLOURS.first)] },
    { name: "Memory", unit: "MiB", lines: [line("resident", "working_set", COLOURS.first, MIB), line("heap", "heap", COLOURS.second, MIB)] },
    { name: "GC pauses", unit: "ms", bars: [{ ...lengths(pauses), name: "", colour: KINDS.pause.colour }] },
    { name: "Exceptions", unit: "", bars: [{ ...count(exceptions), name: "", colour: KINDS.exception.colour }] },
    { name: "Thread pool", unit: "threads", lines: [line("threads", "threads", COLOURS.first), line("queued", "queued", COLOURS.second)], marks: { times: starved, colour: KINDS.starved.colour } },
    { name: "Waits for locks", unit: "ms", bars: [{ ...lengths(waits), name: "", colour: KINDS.wait.colour }] },
    { name: "Log", unit: "entries", bars: ["Warning", "Error", "Critical"].map((level) => ({ ...count(ofLevel(level)), name: level, colour: KINDS[level].colour })) },
  ];
}

class Lanes {
  /** Draws in `place`; `told` is called with the time under the cursor, and after each change of the stretch. */
  constructor(model, place, told) {
    this.model = model;
    this.place = place;
    this.told = told;
    this.lanes = lanesOf(model);
    this.from = 0;
    this.to = model.duration;
    this.cursor = null;
    this.dragged = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(place);
    this.listen();
  }

  x(time) {
    return LEFT + ((time - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT);
  }

  time(x) {
    const part = (x - LEFT) / Math.max(this.width - LEFT - RIGHT, 1);
    return this.from + Math.min(Math.max(part, 0), 1) * (this.to - this.from);
  }

  colour([light, dark]) {
    return this.dark.matches ? dark : light;
  }

  draw() {
    this.width = this.place.clientWidth;
    const height = this.lanes.length * (LANE + GAP) + AXIS;
    const drawing = shape("svg", { viewBox: `0 0 ${this.width} ${height}`, height });
    this.lanes.forEach((lane, at) => this.drawLane(drawing, lane, GAP / 2 + at * (LANE + GAP)));
    this.drawAxis(drawing, height);
    this.over = shape("g", {});
    drawing.append(this.over);
    this.place.replaceChildren(drawing);
    this.height = height;
    this.drawCursor();
  }

  drawLane(drawing, lane, top) {
    const bottom = top + LANE;
    drawing.append(shape("line", { x1: LEFT, x2: this.width - RIGHT, y1: bottom, y2: bottom, class: "rule" }));
    drawing.append(label(14, top + 16, lane.name, "name"));
    const most = lane.lines ? this.drawLines(drawing, lane.lines, bottom) : this.drawBars(drawing, lane.bars, bottom);
    drawing.append(label(14, top + 32, most > 0 ? `to ${number(most)} ${lane.unit}` : lane.unit));
    const named = (lane.lines ?? lane.bars).filter((each) => each.name !== "");
    let left = 14;
    for (const each of named) {
      const text = label(left, top + 48, each.name);
      text.style.fill = this.colour(each.colour);
      drawing.append(text);
      left += each.name.length * 7 + 12;
    }
    for (const time of lane.marks?.times ?? []) {
      if (time >= this.from && time <= this.to) drawing.append(shape("circle", { cx: this.x(time), cy: top + 5, r: 4, fill: this.colour(lane.marks.colour) }));
    }
  }

  /** Returns the highest value. */
  drawLines(drawing, lines, bottom) {
    const seen = lines.map((line) => line.values.filter(([time]) => time >= this.from && time <= this.to));
    const most = seen.flat().reduce((high, [, value]) => Math.max(high, value), 0);
    lines.forEach((line, at) => {
      const points = seen[at].map(([time, value]) => `${this.x(time).toFixed(1)},${(bottom - (most > 0 ? value / most : 0) * (LANE - 6)).toFixed(1)}`);
      drawing.append(shape("polyline", { points: points.join(" "), class: "line", stroke: this.colour(line.colour) }));
    });
    return most;
  }

  /** Returns the highest sum. */
  drawBars(drawing, bars, bottom) {
    const parts = Math.max(Math.floor((this.width - LEFT - RIGHT) / BAR), 1);
    const sums = bars.map((each) => this.model.sums(each.items, each.weightOf, this.from, this.to, parts));
    const totals = Float64Array.from({ length: parts }, (_, part) => sums.reduce((sum, each) => sum + each[part], 0));
    const most = totals.reduce((high, each) => Math.max(high, each), 0);
    const width = (this.width - LEFT - RIGHT) / parts;
    for (let part = 0; part < parts && most > 0; ++part) {
      let base = bottom;
      bars.forEach((each, at) => {
        if (sums[at][part] === 0) return;
        const high = Math.max((sums[at][part] / most) * (LANE - 6), 2);
        drawing.append(shape("rect", { x: LEFT + part * width, y: base - high, width: Math.max(width - 1, 1), height: high, fill: this.colour(each.colour) }));
        base -= high;
      });
    }
    return most;
  }

  drawAxis(drawing, height) {
    const step = stepOf((this.to - this.from) / Math.max((this.width - LEFT) / 110, 1));
    const { began } = this.model.data;
    for (let time = Math.ceil((began + this.from) / step) * step - began; time <= this.to; time += step) {
      drawing.append(shape("line", { x1: this.x(time), x2: this.x(time), y1: 0, y2: height - AXIS, class: "rule" }));
      const text = label(this.x(time), height - 7, clock(began + time, true));
      text.setAttribute("text-anchor", "middle");
      drawing.append(text);
    }
  }

  drawCursor() {
    const parts = [];
    if (this.dragged !== null && this.cursor !== null) {
      const [left, right] = [this.dragged, this.cursor].map((time) => this.x(time)).sort((a, b) => a - b);
      parts.push(shape("rect", { x: left, y: 0, width: right - left, height: this.height - AXIS, class: "stretch" }));
    }
    if (this.cursor !== null) parts.push(shape("line", { x1: this.x(this.cursor), x2: this.x(this.cursor), y1: 0, y2: this.height - AXIS, class: "cursor" }));
    this.over.replaceChildren(...parts);
  }

  /** What the lines are at, at this time. */
  values(time) {
    return this.lanes.filter((lane) => lane.lines).flatMap((lane) => lane.lines.map((line) => {
      const last = line.values.filter(([at]) => at <= time).at(-1);
      return last ? `${line.name || lane.name.toLowerCase()} ${number(last[1])} ${lane.unit}` : "";
    })).filter((text) => text !== "");
  }

  show(from, to) {
    this.from = Math.max(from, 0);
    this.to = Math.min(to, this.model.duration);
    // Nothing is told apart in less than this.
    if (this.to - this.from < 1) this.to = this.from + 1;
    this.draw();
    this.told();
  }

  /** Zooms about the cursor. */
  zoom(factor) {
    const about = this.cursor ?? (this.from + this.to) / 2;
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }

  point(time) {
    this.cursor = time;
    this.drawCursor();
    this.told();
  }

  listen() {
    const timeOf = (event) => this.time(event.clientX - this.place.getBoundingClientRect().left);
    this.place.addEventListener("pointermove", (event) => this.point(timeOf(event)));
    this.place.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.dragged = timeOf(event);
      this.place.setPointerCapture(event.pointerId);
    });
    this.place.addEventListener("pointerup", (event) => {
      if (this.dragged === null) return;
      const [from, to] = [this.dragged, timeOf(event)].sort((a, b) => a - b);
      this.dragged = null;
      if (this.x(to) - this.x(from) > 3) this.show(from, to);
      else this.drawCursor();
    });
    this.place.addEventListener("pointercancel", () => {
      this.dragged = null;
      this.drawCursor();
    });
  }
}

function shape(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function label(x, y, text, kind = "") {
  const made = shape("text", { x, y, class: kind });
  made.textContent = text;
  return made;
}

/** A round number of milliseconds that is not less than `least`. */
function stepOf(least) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];
  let step = steps.find((each) => each >= least) ?? steps.at(-1);
  while (step < least) step *= 2;
  return step;
}

/** The time of day, such as 12:03:04.500; without the fraction if that is 0 and `round`. */
function clock(time, round = false) {
  const at = new Date(time);
  const fraction = at.getMilliseconds();
  return at.toLocaleTimeString("en-GB") + (round && fraction === 0 ? "" : `.${String(fraction).padStart(3, "0")}`);
}
