// The page around the drawing: the list of what happened in the stretch that is shown.

const model = new Model(JSON.parse(part("data").textContent));
const lanes = new Lanes(model, part("lanes"), told);
const graph = new Graph(new Calls(model.data.process, []), part("stage"), part("graph"), part("rest"));
const MOST_ENTRIES = 500;

function describe() {
  const { data } = model;
  const began = new Date(data.began).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
  const parts = [data.place, `pid ${data.pid}`, began, milliseconds(data.duration), data.left_out > 0 ? `${number(data.left_out)} older events left out` : ""];
  document.title = `${data.process}: timeline`;
  part("title").textContent = data.process;
  part("summary").textContent = parts.filter((text) => text !== "").join(" · ");
  part("end").textContent = data.end;
  const add = (value, text) => {
    const option = element("option", text);
    option.value = value;
    part("kind").append(option);
  };
  add("", "everything");
  for (const [kind, { name }] of Object.entries(KINDS)) {
    const found = model.entries.filter((each) => each.kind === kind).length;
    if (found > 0) add(kind, `${name} (${number(found)})`);
  }
}

function entry(each) {
  const made = element("li", "");
  made.append(element("time", clock(model.data.began + each.time)));
  const kind = element("span", each.kind.toLowerCase(), "kind");
  kind.style.color = lanes.colour(KINDS[each.kind].colour);
  made.append(kind);
  const names = each.stack === null ? [] : model.stack(each.stack);
  if (names.length === 0) {
    made.append(element("span", each.text, "what"));
    return made;
  }
  const what = element("details", "", "what");
  const stack = element("ol", "");
  stack.append(...names.map((name) => element("li", name)));
  what.append(element("summary", each.text), stack);
  made.append(what);
  return made;
}

/** Shows what happened in the stretch, or where its processor time went. */
function list() {
  if (showsGraph()) return drawGraph();
  const found = model.select(lanes.from, lanes.to, part("kind").value, expression());
  part("list").replaceChildren(...found.slice(-MOST_ENTRIES).map(entry));
  part("shown").textContent = found.length > MOST_ENTRIES
    ? `the last ${number(MOST_ENTRIES)} of ${number(found.length)}: zoom in to see the others`
    : `${number(found.length)} in ${milliseconds(lanes.to - lanes.from)}`;
}

function showsGraph() {
  return !part("stage").hidden;
}

function drawGraph() {
  const calls = new Calls(model.data.process, model.sampled(lanes.from, lanes.to));
  const wanted = expression();
  graph.model = calls;
  graph.zoomed = graph.cursor = ROOT;
  graph.hovered = null;
  graph.found = wanted && calls.search(wanted);
  part("shown").textContent = `${number(calls.total[ROOT])} samples of the processor in ${milliseconds(lanes.to - lanes.from)}`;
  graph.layOut();
}

function toggleGraph() {
  if (model.samples.length === 0) return;
  part("stage").hidden = showsGraph();
  part("list").hidden = showsGraph();
  part("kind").disabled = showsGraph();
  document.body.classList.toggle("graph", showsGraph());
  part("flame").setAttribute("aria-pressed", String(showsGraph()));
  list();
}

function showCall(call) {
  graph.hover(call);
  const { total, self } = graph.model;
  const share = (samples) => `${((100 * samples) / Math.max(total[ROOT], 1)).toFixed(1)} %`;
  part("status").textContent = call === null ? "" : `${graph.model.name(call)} — ${number(total[call])} samples, ${share(total[call])} · in itself ${number(self[call])}, ${share(self[call])}`;
}

let listed = "";

/** Shows what is under the cursor, and lists anew if the stretch is another one. */
function told() {
  part("status").textContent = lanes.cursor === null ? "" : [clock(model.data.began + lanes.cursor), ...lanes.values(lanes.cursor)].join(" · ");
  const stretch = `${lanes.from} ${lanes.to}`;
  if (stretch === listed) return;
  listed = stretch;
  list();
}

function reset() {
  lanes.show(0, model.duration);
}

function pressKey(event) {
  const typing = event.target.matches("input, select");
  const step = (lanes.to - lanes.from) / 100;
  const ways = {
    ArrowLeft: () => lanes.point(Math.max((lanes.cursor ?? lanes.from) - step, lanes.from)),
    ArrowRight: () => lanes.point(Math.min((lanes.cursor ?? lanes.from) + step, lanes.to)),
    "+": () => lanes.zoom(0.5),
    "-": () => lanes.zoom(2),
    "/": () => part("search").focus(),
    f: toggleGraph,
  };
  if (event.target === part("graph") && moveInGraph(event.key)) {
    event.preventDefault();
  } else if (event.key === "Escape") {
    if (event.target === part("search")) part("lanes").focus();
    reset();
  } else if (!typing && !event.ctrlKey && !event.metaKey && event.key in ways) {
    ways[event.key]();
    event.preventDefault();
  }
}

/** Returns whether the key means something there. */
function moveInGraph(key) {
  const ways = { ArrowUp: "out", ArrowDown: "in", ArrowLeft: "left", ArrowRight: "right" };
  if (key === "Enter") graph.zoom(graph.cursor);
  else if (key in ways) graph.move(ways[key]);
  else return false;
  showCall(graph.cursor);
  return true;
}

describe();
document.addEventListener("keydown", pressKey);
part("search").addEventListener("input", list);
part("kind").addEventListener("change", list);
part("controls").addEventListener("submit", (event) => event.preventDefault());
part("reset").addEventListener("click", reset);
part("flame").addEventListener("click", toggleGraph);
part("flame").disabled = model.samples.length === 0;
part("flame").title = model.samples.length === 0 ? "No samples of the processor were kept" : "Where the processor time of the stretch went";
part("graph").addEventListener("pointermove", (event) => showCall(graph.callAt(event.clientX, event.clientY)));
part("graph").addEventListener("pointerleave", () => showCall(null));
part("graph").addEventListener("click", (event) => graph.zoom(graph.callAt(event.clientX, event.clientY) ?? ROOT));
lanes.draw();
told();
