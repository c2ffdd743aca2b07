// The live page: polls for updates and shows them.
import { describe, draw, listChanges, tabulate } from "./curves.js";
import { explainLane, showDocuments } from "./documents.js";
import { deciding, showDecisions } from "./decisions.js";
import { make } from "./dom.js";
import { buildSwitches, buildTable, markSwitches, updateTable } from "./lanes.js";
import { Model } from "./model.js";
import { choiceOf, choices, placeOf, showPairs } from "./pairs.js";
import { showFigures, showState, showThrough } from "./stream.js";

const RUNNING_MS = 1000;
const OVER_MS = 5000;
const LONGEST_MS = 15000;

const by = (id) => document.getElementById(id);
const model = new Model();
const choice = restored();
let failures = 0;
let timer = 0;
let held = false;

function restored() {
  const kept = JSON.parse(sessionStorage.getItem("choice") ?? "{}");
  return { measure: "loss1", axis: "round", over: "all", rankedBy: "", compared: "", ...kept, off: new Set(kept.off ?? []) };
}

function keep() {
  sessionStorage.setItem("choice", JSON.stringify({ ...choice, off: [...choice.off] }));
}

async function ask() {
  clearTimeout(timer);
  try {
    const query = new URLSearchParams({ run: model.run, since: model.version });
    const answer = await fetch(`updates?${query}`, { signal: AbortSignal.timeout(LONGEST_MS) });
    if (!answer.ok) throw new Error(answer.statusText);
    failures = 0;
    if (answer.status === 200) take(await answer.json());
    if (model.status) showState(by("state"), by("note"), model.status.state, model.status.note);
  } catch {
    failures += 1;
    if (failures > 1) showState(by("state"), by("note"), "lost");
  }
  const usual = ["starting", "running"].includes(model.status?.state) ? RUNNING_MS : OVER_MS;
  if (!document.hidden) timer = setTimeout(ask, failures ? Math.min(RUNNING_MS * 2 ** failures, LONGEST_MS) : usual);
}

function take(update) {
  const names = model.lanes.map((lane) => lane.name).join("\n");
  const isNew = model.take(update);
  if (isNew || names !== model.lanes.map((lane) => lane.name).join("\n")) build();
  by("source").textContent = model.heading.source;
  document.title = `${model.heading.source} \u2013 Wirerank`;
  showThrough(by("through"), by("through-label"), by("through-text"), model.status, model.heading.counted);
  showFigures(by("figures"), model);
  updateTable(by("lanes"), model);
  compare();
  decide();
  showCurves();
  if (!held) showLast();
}

// The parts that depend only on which lanes and measures there are.
function build() {
  fill(by("measure"), model.measures.map(({ key, title }) => [key, title]), choice.measure);
  choice.measure = by("measure").value;
  fill(by("ranked-by"), model.lanes.map(({ name }) => [name, name]), choice.rankedBy);
  buildSwitches(by("switches"), model, choice, () => {
    keep();
    showCurves();
  });
  fill(by("decided-by"), deciding(model).map((i) => [String(i), model.lanes[i].name]), String(model.lanes.findIndex(({ name }) => name === choice.decidedBy)));
  buildTable(by("lanes"), by("windows"), model);
  fill(by("compared"), choices(model), choiceOf(model, choice.compared));
}

function compare() {
  by("comparison").hidden = !model.heading.compared.length;
  showPairs(by("pairs"), by("sureness"), model, by("compared").value);
}

function decide() {
  const lane = Number(by("decided-by").value || -1);
  by("decisions").hidden = lane < 0;
  if (lane >= 0) showDecisions(by, model, lane);
}

function fill(menu, options, chosen) {
  menu.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) menu.value = chosen;
}

function showCurves() {
  describe(by("meaning"), model, choice);
  markSwitches(by("switches"), model, choice);
  draw(by("chart"), model, choice);
  listChanges(by("changes"), model, choice);
  if (by("values").open) tabulate(by("values-table"), model, choice);
}

function showLast() {
  const lane = Math.max(0, by("ranked-by").selectedIndex);
  by("no-documents").hidden = model.documents.size > 0;
  explainLane(by("explanation"), model.lanes[lane], model.decisions[lane]);
  if (model.lanes.length) showDocuments(by("documents"), model, lane);
}

by("measure").addEventListener("change", (event) => {
  choice.measure = event.target.value;
  keep();
  showCurves();
});
for (const radio of document.querySelectorAll("input[name=axis], input[name=over]")) {
  radio.checked = radio.value === choice[radio.name];
  radio.addEventListener("change", () => {
    choice[radio.name] = radio.value;
    keep();
    showCurves();
  });
}
by("ranked-by").addEventListener("change", (event) => {
  choice.rankedBy = event.target.value;
  keep();
  showLast();
});
by("compared").addEventListener("change", (event) => {
  choice.compared = model.lanes[placeOf(model, event.target.value)]?.name ?? event.target.value;
  keep();
  compare();
});
by("decided-by").addEventListener("change", (event) => {
  choice.decidedBy = model.lanes[Number(event.target.value)].name;
  keep();
  decide();
});
by("hold").addEventListener("click", () => {
  held = !held;
  by("hold").setAttribute("aria-pressed", held);
  if (!held) showLast();
});
by("values").addEventListener("toggle", showCurves);
by("diagrams").addEventListener("toggle", decide);
for (const show of [showCurves, decide]) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) ask();
});
ask();
