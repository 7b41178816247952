// The page around the drawing. What it shows is in the address behind the #, to be kept and sent.

const model = new Model(JSON.parse(part("profile").textContent));
const graph = new Graph(model, part("stage"), part("graph"), part("rest"));
const data = model.data;

const number = (value) => value.toLocaleString("en");
const share = (samples, of) => `${of > 0 ? ((100 * samples) / of).toFixed(1) : "0.0"} %`;
const byWall = data.clock === "wall";

function time(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  return seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(1)} ms` : `${(seconds * 1e6).toFixed(1)} µs`;
}

function describeProfile() {
  const began = new Date(data.began);
  const rate = data.interval > 0 ? `${number(Math.round(1e9 / data.interval))} samples a second of ${byWall ? "each thread's time" : "processor time"}` : "";
  const parts = [`pid ${data.pid}`, data.began > 0 ? began.toLocaleString([], { dateStyle: "medium", timeStyle: "medium" }) : "", time(data.duration / 1e9), rate,
    `${number(data.samples)} samples`, data.lost > 0 ? `${number(data.lost)} lost` : ""];
  document.title = `${data.process}: flame graph`;
  part("title").textContent = data.process;
  part("summary").textContent = parts.filter((text) => text !== "").join(" · ");
}

function listThreads() {
  const samples = data.threads.map(() => 0);
  for (let at = 0; at < data.counts.length; at += 4) samples[data.counts[at + 1]] += data.counts[at + 3];
  const add = (value, text) => {
    const option = element("option", text);
    option.value = value;
    part("thread").append(option);
  };
  add("", "all, merged");
  Array.from(samples.keys())
    .sort((a, b) => samples[b] - samples[a])
    .forEach((at) => add(String(at), `${data.threads[at].name || "thread"} (${data.threads[at].id}): ${number(samples[at])}`));
  part("state-control").hidden = !byWall;
}

function drawLegend() {
  const items = data.kinds.map((kind) => [kind, boxColour(HUES[kind], 0, false, graph.dark.matches, false)]);
  items.push(["found", boxColour(FOUND_HUE, 0, false, graph.dark.matches, false)]);
  if (byWall) items.push(["waited", graph.waitedColour()]);
  part("legend").replaceChildren(...items.map(([name, colour]) => {
    const item = element("li", "");
    const box = element("span", "");
    box.style.background = colour;
    item.append(box, name);
    return item;
  }));
}

/** What is known of a call, in lines. */
function details(call) {
  const [total, self] = [model.total[call], model.self[call]];
  const lines = [model.name(call)];
  if (call !== ROOT) lines.push([model.kind(call), model.module(call)].filter((text) => text !== "").join(" · "));
  lines.push(`${number(total)} samples · ${share(total, model.total[ROOT])} of all · ${time(model.seconds(total))}`);
  if (graph.zoomed !== ROOT) lines.push(`${share(total, model.total[graph.zoomed])} of what is zoomed to`);
  lines.push(`${number(self)} in itself · ${share(self, model.total[ROOT])}`);
  if (byWall) lines.push(`${share(model.waited[call], total)} of it waited`);
  return lines;
}

function showStatus(call) {
  part("status").textContent = details(call).slice(0, 3).join(" — ");
  part("graph").setAttribute("aria-label", `Flame graph of ${model.name(graph.zoomed)}`);
}

function showTip(call, x, y) {
  const tip = part("tip");
  tip.hidden = call === null;
  if (call === null) return;
  tip.replaceChildren(...details(call).map((line) => element("p", line)));
  const left = Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 4));
  const top = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18;
  tip.style.transform = `translate(${left}px, ${Math.max(0, top)}px)`;
}

function search() {
  const wanted = expression();
  const result = wanted && model.search(wanted);
  graph.found = result && result.frames;
  part("matched").textContent = result
    ? `${share(result.samples, model.total[ROOT])} of samples, ${number(result.count)} ${result.count === 1 ? "frame" : "frames"}`
    : "";
  graph.draw();
}

function zoom(call) {
  graph.zoom(model.total[call] > 0 ? call : ROOT);
  showStatus(graph.zoomed);
  remember();
}

function select() {
  const thread = part("thread").value;
  model.select(thread === "" ? null : Number(thread), part("state").value);
  search();
  zoom(graph.zoomed);
}

function flip() {
  graph.flip(!graph.rootBelow);
  remember();
}

function remember() {
  const address = new URLSearchParams();
  const keep = (key, value, usual) => value !== usual && address.set(key, value);
  keep("search", part("search").value, "");
  keep("thread", part("thread").value, "");
  keep("samples", part("state").value, "all");
  keep("root", graph.rootBelow ? "below" : "above", "below");
  keep("zoom", String(graph.zoomed), String(ROOT));
  history.replaceState(null, "", `#${address}`);
}

function recall() {
  const address = new URLSearchParams(location.hash.slice(1));
  const zoomed = Number(address.get("zoom") ?? ROOT);
  part("search").value = address.get("search") ?? "";
  part("thread").value = address.get("thread") ?? "";
  part("state").value = address.get("samples") ?? "all";
  if (part("thread").selectedIndex < 0) part("thread").value = "";
  if (part("state").selectedIndex < 0) part("state").value = "all";
  graph.rootBelow = address.get("root") !== "above";
  graph.zoomed = Number.isInteger(zoomed) && zoomed > ROOT && zoomed < model.size ? zoomed : ROOT;
  select();
}

const OUTWARDS = { true: "ArrowUp", false: "ArrowDown" };
const INWARDS = { true: "ArrowDown", false: "ArrowUp" };

function moveCursor(event) {
  const ways = { [OUTWARDS[graph.rootBelow]]: "out", [INWARDS[graph.rootBelow]]: "in", ArrowLeft: "left", ArrowRight: "right" };
  if (event.key in ways) {
    graph.move(ways[event.key]);
    showStatus(graph.cursor);
  } else if (event.key === "Enter" || event.key === " ") {
    zoom(graph.cursor);
  } else {
    return;
  }
  event.preventDefault();
}

function pressKey(event) {
  const typing = event.target.matches("input, select");
  if (event.key === "Escape") {
    if (event.target === part("search")) part("graph").focus();
    zoom(ROOT);
  } else if (event.key === "/" && !typing) {
    part("search").focus();
    event.preventDefault();
  } else if (event.key === "i" && !typing && !event.ctrlKey && !event.metaKey) {
    flip();
  }
}

function listen() {
  const canvas = part("graph");
  canvas.addEventListener("pointermove", (event) => {
    const call = graph.callAt(event.clientX, event.clientY);
    graph.hover(call);
    showTip(call, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => {
    graph.hover(null);
    showTip(null);
  });
  canvas.addEventListener("click", (event) => {
    const call = graph.callAt(event.clientX, event.clientY);
    if (call !== null) zoom(call);
  });
  canvas.addEventListener("keydown", moveCursor);
  document.addEventListener("keydown", pressKey);
  part("search").addEventListener("input", () => {
    search();
    remember();
  });
  part("controls").addEventListener("submit", (event) => event.preventDefault());
  part("thread").addEventListener("change", select);
  part("state").addEventListener("change", select);
  part("flip").addEventListener("click", flip);
  part("reset").addEventListener("click", () => zoom(ROOT));
  addEventListener("hashchange", recall);
  graph.dark.addEventListener("change", drawLegend);
}

describeProfile();
listThreads();
drawLegend();
listen();
graph.layOut();
recall();
