// The drawing. Rows that are out of sight are laid out, but not drawn: a stack may be 100,000 calls deep.

/** The number of what stands for all calls. Callers have lower numbers than what they call. */
const ROOT = 0;
const ROW = 19;
const NARROWEST = 0.4;
const FONT = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const HUES = { all: 220, managed: 145, runtime: 212, native: 44, kernel: 14 };
const FOUND_HUE = 305;

class Graph {
  /** Draws `model` on `canvas`, which stays in sight of `stage`; `rest` is as high as what is out of it. */
  constructor(model, stage, canvas, rest) {
    this.model = model;
    this.stage = stage;
    this.canvas = canvas;
    this.rest = rest;
    this.context = canvas.getContext("2d");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.zoomed = ROOT;
    this.cursor = ROOT;
    this.hovered = null;
    this.found = null;
    this.rootBelow = true;
    this.dark.addEventListener("change", () => this.draw());
    for (const [where, what] of [[stage, "scroll"], [canvas, "focus"], [canvas, "blur"]]) {
      where.addEventListener(what, () => this.draw());
    }
    new ResizeObserver(() => this.layOut()).observe(stage);
  }

  /** Places the boxes anew, after anything but scrolling and hovering. */
  layOut() {
    const fromRoot = this.stage.scrollHeight - this.stage.scrollTop - this.stage.clientHeight;
    const width = this.stage.clientWidth;
    const zoomedRow = this.model.depths[this.zoomed];
    this.rows = [{ call: ROOT, left: 0, width }, ...this.model.path(this.zoomed).map((call) => ({ call, left: 0, width }))]
      .map((box) => [box]);
    this.placeBelow(this.rows[zoomedRow][0], zoomedRow);
    const height = this.stage.clientHeight;
    this.height = Math.max(this.rows.length * ROW, height);
    this.rest.style.height = `${this.height - height}px`;
    const scale = devicePixelRatio;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    if (this.rootBelow) this.stage.scrollTop = this.height - height - fromRoot;
    this.draw();
  }

  /** Those that are called from `box`, as far as they can be seen. */
  placeBelow(box, row) {
    const total = this.model.total;
    const pending = [[box, row]];
    while (pending.length > 0) {
      const [caller, callerRow] = pending.pop();
      const sampleWidth = caller.width / total[caller.call];
      let left = caller.left;
      for (const call of this.model.children(caller.call)) {
        if (total[call] === 0) continue;
        const placed = { call, left, width: sampleWidth * total[call] };
        left += placed.width;
        if (placed.width < NARROWEST) continue;
        (this.rows[callerRow + 1] ??= []).push(placed);
        pending.push([placed, callerRow + 1]);
      }
    }
  }

  /** Where a row begins, from the top of all rows. */
  top(row) {
    return this.rootBelow ? this.height - (row + 1) * ROW : row * ROW;
  }

  rowAt(y) {
    return Math.floor((this.rootBelow ? this.height - y : y) / ROW);
  }

  draw() {
    if (!this.rows) return;
    const context = this.context;
    const from = this.stage.scrollTop;
    context.clearRect(0, 0, this.stage.clientWidth, this.stage.clientHeight);
    context.font = FONT;
    context.textBaseline = "middle";
    this.letter ??= context.measureText("M").width;
    const [one, other] = [this.rowAt(from), this.rowAt(from + this.stage.clientHeight)];
    const last = Math.min(Math.max(one, other), this.rows.length - 1);
    for (let row = Math.max(0, Math.min(one, other)); row <= last; ++row) {
      for (const box of this.rows[row]) this.drawBox(box, this.top(row) - from);
    }
  }

  drawBox({ call, left, width }, top) {
    const context = this.context;
    const inner = Math.max(width - 1, NARROWEST);
    context.fillStyle = this.colour(call);
    context.fillRect(left, top, inner, ROW - 1);
    const waited = this.model.waited[call] / this.model.total[call];
    if (waited > 0) {
      context.fillStyle = this.waitedColour();
      context.fillRect(left, top + ROW - 4, inner * waited, 3);
    }
    const underCursor = call === this.cursor && document.activeElement === this.canvas;
    if (call === this.hovered || underCursor) {
      context.strokeStyle = this.dark.matches ? "#ffffff" : "#000000";
      context.lineWidth = underCursor ? 2 : 1;
      context.strokeRect(left + 1, top + 1, Math.max(inner - 2, 0), ROW - 3);
    }
    const letters = Math.floor((inner - 6) / this.letter);
    if (letters < 2) return;
    context.fillStyle = this.dark.matches ? "#f0f3f6" : "#14181d";
    context.fillText(shorten(this.model.name(call), letters), left + 4, top + ROW / 2);
  }

  colour(call) {
    const outside = this.model.depths[call] < this.model.depths[this.zoomed];
    const hue = this.isFound(call) ? FOUND_HUE : HUES[this.model.kind(call)];
    const weak = outside || (this.found !== null && !this.isFound(call));
    return boxColour(hue, call === ROOT ? 0 : this.model.frames[call], weak, this.dark.matches, call === ROOT);
  }

  isFound(call) {
    return call !== ROOT && this.found !== null && this.found[this.model.frames[call]] === 1;
  }

  waitedColour() {
    return this.dark.matches ? "#8b949e" : "#6e7781";
  }

  /** The call that is drawn there, in the window; null: none. */
  callAt(clientX, clientY) {
    const at = this.stage.getBoundingClientRect();
    const x = clientX - at.left;
    const row = this.rows?.[this.rowAt(clientY - at.top + this.stage.scrollTop)] ?? [];
    return row.find(({ left, width }) => x >= left && x < left + width)?.call ?? null;
  }

  hover(call) {
    if (call === this.hovered) return;
    this.hovered = call;
    this.draw();
  }

  zoom(call) {
    this.zoomed = call;
    this.cursor = call;
    this.layOut();
    this.reveal(call);
  }

  flip(rootBelow) {
    this.rootBelow = rootBelow;
    this.layOut();
    this.reveal(this.cursor);
  }

  /** Scrolls to the cursor's row. */
  reveal(call) {
    const top = this.top(this.model.depths[call]);
    const seen = this.stage.scrollTop;
    if (top < seen) this.stage.scrollTop = top;
    else if (top + ROW > seen + this.stage.clientHeight) this.stage.scrollTop = top + ROW - this.stage.clientHeight;
    this.draw();
  }

  /** To the caller ("in"), the callee that took most ("out"), or the sibling on either side ("left", "right"). */
  move(way) {
    const { callers, total } = this.model;
    const call = this.cursor;
    const sampled = (of) => Array.from(this.model.children(of)).filter((child) => total[child] > 0);
    if (way === "in") this.cursor = callers[call];
    else if (way === "out") this.cursor = sampled(call).reduce((most, each) => (total[each] > total[most] ? each : most), sampled(call)[0] ?? call);
    else if (call !== ROOT) {
      const siblings = sampled(callers[call]);
      this.cursor = siblings[siblings.indexOf(call) + (way === "left" ? -1 : 1)] ?? call;
    }
    this.reveal(this.cursor);
  }
}

/** Boxes of one kind differ a little, each frame's always alike. */
function boxColour(hue, frame, weak, dark, plain) {
  const shade = (Math.imul(frame + 1, 2654435761) >>> 24) / 256;
  const saturation = plain ? 8 : weak ? 18 : 52 + 10 * shade;
  const lightness = dark ? (weak ? 24 : 31 + 7 * shade) : weak ? 88 : 72 + 9 * shade;
  return `hsl(${hue + (plain ? 0 : 14 * (shade - 0.5))} ${saturation}% ${lightness}%)`;
}

/** As much of a method's name as fits: whole, without its arguments, without its namespace, cut off. */
function shorten(name, letters) {
  // A function in a file, "libc.so.6.read", or one without a name, "libc.so.6.?".
  const [, file, inside] = name.match(/^(.*\.so(?:\.\d+)*|\[\w+\])\.(.+)$/) ?? [name, "", name];
  const [whole, named] = inside === "?" ? [file, file] : [name, inside];
  const bare = named.replace(/\(.*/, "") || name;
  // What compilers put behind a name (".isra.0", ".cold") is none.
  const plain = bare.replace(/\[[^\]]*\]/g, "").replace(/(\.(isra|constprop|part|cold|lto_priv)(\.\d+)?)+$/, "");
  // A place in a file without a name: "libc.so.6+0x2a1c".
  const own = /\+0x[0-9a-f]+$/.test(plain) ? plain : plain.match(/([^.:]+[.:]+)?[^.:]+$/)?.[0] ?? bare;
  return [whole, bare, own].find((each) => each.length <= letters) ?? `${own.slice(0, letters - 1)}…`;
}
