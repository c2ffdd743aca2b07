// The learning curves: drawn by plotly, and as a table for readers who cannot hover over the chart.
import { colourNumber, count, fixed, make, setText, strokeOf, swatch } from "./dom.js";
import { has } from "./model.js";

const LOGARITHMIC = new Set(["loss2", "loss3", "coverage"]); // on a linear axis the first rounds would hide the rest
const AXES = {
  round: { type: "log", title: "round (log scale)", hoverformat: ",d", tickformat: ",d", autorangeoptions: { clipmin: 1 }, head: "round %{x:,d}" },
  document_ms: { type: "date", title: "time of the documents (UTC)", head: "%{x|%Y-%m-%d %H:%M:%S}" },
  wall_ms: { type: "date", title: "time of learning (UTC; documents have no time)", head: "%{x|%Y-%m-%d %H:%M:%S}" },
};
export const CONFIG = { displayModeBar: false, responsive: true, showTips: false, scrollZoom: false };

// Plotly reads its texts as a kind of HTML. A name that is longer than this is cut.
const LONGEST = 60;
const cut = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}\u2026` : text);
const plain = (text) => cut(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

export const touch = matchMedia("(hover: none)"); // on a touch screen, dragging scrolls the page

export function draw(chart, model, choice) {
  if (!window.Plotly || !model.lanes.length) return;
  const measure = model.measures.find((one) => one.key === choice.measure);
  const axis = choice.axis === "round" ? "round" : model.timeAxis;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const traces = model.lanes.map((lane, i) => ({
    ...line(model.points(lane, measure.key, axis, choice.over === "recent"), measure),
    name: plain(lane.name),
    visible: !choice.off.has(lane.name),
    line: { color: colour(`--lane-${colourNumber(i)}`), width: 2, dash: strokeOf(i) },
  }));
  const layout = {
    ...axes(axis, measure, LOGARITHMIC.has(measure.key) ? decades(traces) : 0, colour),
    ...withoutCurves(traces, model.lanes.some((lane) => !choice.off.has(lane.name) && has(lane, measure.key))),
    shapes: model.lanes.flatMap((lane, i) =>
      choice.off.has(lane.name) ? [] : model.changes(lane, axis).map(([x]) => mark(x, colour(`--lane-${colourNumber(i)}`))),
    ),
    margin: { l: 48, r: 12, t: 12, b: 40 },
    paper_bgcolor: colour("--card"), // also the outline of the line that follows the pointer
    plot_bgcolor: colour("--card"),
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--soft") },
    showlegend: false,
    hovermode: "x unified",
    hoverdistance: -1, // the nearest point, at any distance
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    dragmode: touch.matches ? false : "zoom",
    uirevision: `${model.run} ${measure.key} ${axis}`, // keep the zoom while points are added
  };
  window.Plotly.react(chart, traces, layout, CONFIG);
}

// A vertical line where a change was found.
const mark = (x, color) => ({ type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color, width: 1, dash: "dash" } });

// A value that does not exist has no point; neither has 0 on a log scale.
function line(points, measure) {
  const none = LOGARITHMIC.has(measure.key) ? (value) => value === null || value <= 0 : (value) => value === null;
  return {
    type: "scatter",
    mode: points.length < 30 ? "lines+markers" : "lines",
    x: points.map(([x]) => x),
    y: points.map(([, value]) => (none(value) ? null : value * measure.scale)),
    marker: { size: 5 },
    hovertemplate: `%{y:.${measure.digits}f}`,
  };
}

// Without a curve, plotly would invent axes; show a sentence instead.
function withoutCurves(traces, measured) {
  const shown = traces.filter(({ visible }) => visible);
  if (shown.some(({ y }) => y.some((value) => value !== null))) return {};
  let text = "No rounds yet.";
  if (!shown.length) text = "All lanes are switched off.";
  else if (!measured) text = "All lanes that have this measure are switched off.";
  const nothing = { visible: false, fixedrange: true };
  return {
    xaxis: nothing,
    yaxis: nothing,
    annotations: [{ text, showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5, font: { size: 14 } }],
  };
}

// How many powers of ten the positive values span; 0 if no value is positive.
function decades(traces) {
  const values = traces.flatMap(({ y }) => y.filter((value) => value > 0));
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  const least = values.reduce((a, b) => Math.min(a, b), most);
  return most > 0 ? Math.max(Math.log10(most / least), 0.01) : 0;
}

// A log scale for values that span this many powers of ten. Without a tick format plotly writes 20
// and 50 as 2 and 5.
function logScale(spanned) {
  const dtick = spanned <= 1 ? "D1" : spanned <= 3 ? "D2" : 1;
  return { type: "log", dtick, tickformat: ",~g" };
}

function axes(axis, measure, spanned, colour) {
  const { head, title, ...kind } = AXES[axis];
  const common = { gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, automargin: true, fixedrange: touch.matches };
  const titled = (text) => ({ text, font: { size: 12 } });
  const scale = spanned ? logScale(spanned) : { type: "linear", rangemode: "tozero" };
  return {
    xaxis: { ...common, ...kind, title: titled(title), unifiedhovertitle: { text: head }, spikecolor: colour("--soft"), spikethickness: 1, spikedash: "dot" },
    yaxis: { ...common, ...scale, title: titled(measure.title) },
  };
}

export function describe(element, model, choice) {
  const measure = model.measures.find((one) => one.key === choice.measure);
  if (!measure) return;
  const better = measure.higher ? "higher is better" : "lower is better";
  const averaged = choice.over === "recent" ? "averaged over the last eighth of the rounds" : "averaged over all rounds so far";
  const over = measure.window === null ? averaged : `over the last ${count(measure.window)} rounds`;
  setText(element, `${measure.title}: ${measure.meaning}, ${over}; ${better}.`);
}

// The visible lanes at rounds 1, 2, 4, 8, ... and at the last round.
export function tabulate(table, model, choice) {
  const measure = model.measures.find((one) => one.key === choice.measure);
  if (!measure) return;
  const lanes = model.lanes.filter((lane) => !choice.off.has(lane.name) && has(lane, measure.key));
  const rows = new Map();
  lanes.forEach((lane, i) => {
    for (const [round, value] of model.points(lane, measure.key, "round", choice.over === "recent")) {
      if (round !== lane.rounds && !Number.isInteger(Math.log2(round))) continue;
      if (!rows.has(round)) rows.set(round, lanes.map(() => ""));
      rows.get(round)[i] = fixed(value, measure);
    }
  });
  const head = lanes.map((lane) => make("th", { scope: "col" }, lane.name));
  table.tHead.replaceChildren(make("tr", {}, make("th", { scope: "col" }, "round"), ...head));
  const body = [...rows].sort(([a], [b]) => a - b).map(([round, values]) =>
    make("tr", {}, make("th", { scope: "row" }, count(round)), ...values.map((value) => make("td", {}, value))),
  );
  table.tBodies[0].replaceChildren(...body);
}

// The changes of the visible lanes as text, the newest first.
export function listChanges(list, model, choice) {
  const found = model.lanes.flatMap((lane, i) =>
    choice.off.has(lane.name) ? [] : lane.changes.map(({ round, text }) => ({ round, text: `${lane.name}: ${text}`, i })),
  );
  found.sort((a, b) => b.round - a.round);
  list.hidden = !found.length;
  if (list.dataset.shown === JSON.stringify(found)) return;
  list.dataset.shown = JSON.stringify(found);
  list.replaceChildren(...found.map(({ text, i }) => make("li", {}, swatch(i), text)));
}
