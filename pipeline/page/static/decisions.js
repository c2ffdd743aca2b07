// Lanes that assign topics: how good their sets and probabilities are, and which documents to review.
import { CONFIG, touch } from "./curves.js";
import { colourNumber, count, make, setText, short } from "./dom.js";

const percent = (share) => (share === null ? "n.a." : `${(100 * share).toFixed(1)}\u00a0%`);
// With two digits that count, so that rare topics can be told apart.
const fine = (share) => (share === null ? "n.a." : `${Number((100 * share).toPrecision(2))}\u00a0%`);
const decimal = (value) => (value === null ? "n.a." : value.toFixed(3));

const GOALS = {
  f1: "the F1 of each document",
  micro: "micro F1",
  macro: "macro F1",
  precision: "a precision of",
  recall: "a recall of",
};
const FIGURES = [
  ["micro F1", "micro_f1", decimal],
  ["Precision", "set_precision", decimal],
  ["Recall", "set_recall", decimal],
  ["macro F1", "macro_f1", decimal],
  ["Mean F1 per document", "sample_f1", decimal],
  ["Calibration error", "calibration_error", decimal],
];
const REVIEW_FIGURES = [
  ["Marked for review", "review_share", percent],
  ["Mean F1 of the others", "trusted_f1", decimal],
];

// The places of the lanes that assign topics.
export const deciding = (model) => model.lanes.map((_, i) => i).filter((i) => model.decisions[i]);

// `part` finds a part of the section by its id.
export function showDecisions(part, model, lane) {
  const decisions = model.decisions[lane];
  setText(part("decisions-meaning"), meaning(decisions));
  showFigures(part("decision-figures"), decisions);
  drawDiagrams(part, decisions, lane);
  if (part("diagrams").open) tabulate(part, decisions);
  const tooFew = `No topic in use has ${count(decisions.enough_documents)} documents yet.`;
  const notGood = `No topic in use has an F1 of ${decisions.trusted_from} yet.`;
  showTopics(part("worst"), part("no-worst"), WORST, decisions.worst, tooFew);
  showTopics(part("best"), part("no-best"), BEST, decisions.best, decisions.worst.length ? notGood : tooFew);
  showUnused(part("unused"), decisions.unused);
  showReview(part("review"), part("no-review"), decisions);
}

function meaning({ goal, risk }) {
  const [name, level] = goal.split(":");
  const aim = `The sets aim at ${GOALS[name] ?? goal}${level ? ` ${level}` : ""}. They are made before the labels are used.`;
  if (!risk) return `${aim} The lane marks no documents for review. A lane with the option risk does, for example risk=0.1.`;
  return `${aim} Documents are marked for review so that the sets of the others have a mean F1 of ${Number((1 - risk).toFixed(4))}. If all sets together have that, hardly any document is marked. At the beginning all are marked. Where that F1 is out of reach, all stay marked; a larger risk helps then.`;
}

function showFigures(list, { risk, values, recent }) {
  const figures = risk ? [...FIGURES, ...REVIEW_FIGURES] : FIGURES;
  if (list.children.length !== figures.length) {
    list.replaceChildren(...figures.map(([title]) => make("div", {}, make("dt", {}, title), make("dd", {}, make("span"), make("small")))));
  }
  figures.forEach(([title, key, text], i) => {
    const [term, { children: [value, lately] }] = list.children[i].children;
    setText(term, title);
    setText(value, text(values[key]));
    setText(lately, recent[key] === null ? "" : `${text(recent[key])} lately`);
  });
}

function drawDiagrams(part, { reliability, review_gain, values, risk }, lane) {
  if (!window.Plotly) return;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const line = { color: colour(`--lane-${colourNumber(lane)}`), width: 2 };
  const most = reliability.reduce((largest, bin) => Math.max(largest, bin.count), 1);
  const probabilities = {
    x: reliability.map(({ probability }) => probability),
    y: reliability.map(({ relevant }) => relevant),
    customdata: reliability.map((bin) => bin.count),
    marker: { size: reliability.map((bin) => 5 + 11 * Math.sqrt(bin.count / most)) },
    hovertemplate: "probability %{x:.3f}, relevant %{y:.3f}<br>%{customdata:,d} topics<extra></extra>",
  };
  const gains = {
    x: review_gain.map(([share]) => share),
    y: review_gain.map(([, f1]) => f1),
    marker: { size: 5 },
    hovertemplate: "%{x:.1%} reviewed: mean F1 %{y:.3f}<extra></extra>",
  };
  const dashed = { color: colour("--soft"), width: 1, dash: "dash" };
  const right = { type: "line", x0: 0, y0: 0, x1: 1, y1: 1, line: dashed };
  const now = { type: "line", yref: "paper", x0: values.review_share, x1: values.review_share, y0: 0, y1: 1, line: dashed };
  const shapes = risk && values.review_share !== null ? [now] : [];
  react(part("reliability"), { ...probabilities, line }, ["mean probability", "share of relevant topics"], [right], ".1~f", colour);
  react(part("gain"), { ...gains, line }, ["share of documents reviewed", "mean F1 of the others"], shapes, ".0%", colour);
}

function react(chart, trace, [x, y], shapes, tickformat, colour) {
  const shown = JSON.stringify([trace, shapes, colour("--card")]);
  if (chart.dataset.shown === shown) return;
  chart.dataset.shown = shown;
  const axis = (text) => ({
    title: { text, font: { size: 12 } }, range: [-0.03, 1.03], tickvals: [0, 0.2, 0.4, 0.6, 0.8, 1],
    gridcolor: colour("--grid"), linecolor: colour("--line"), zeroline: false, automargin: true, fixedrange: true,
  });
  const layout = {
    xaxis: { ...axis(x), tickformat },
    yaxis: { ...axis(y), tickformat: ".1~f" },
    shapes,
    margin: { l: 48, r: 12, t: 12, b: 40 },
    paper_bgcolor: colour("--card"),
    plot_bgcolor: colour("--card"),
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--soft") },
    showlegend: false,
    hovermode: touch.matches ? false : "closest",
    hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--text") } },
    dragmode: false,
  };
  window.Plotly.react(chart, [{ type: "scatter", mode: "lines+markers", ...trace }], layout, CONFIG);
}

function tabulate(part, { reliability, review_gain }) {
  const bins = reliability.map((bin) => [decimal(bin.probability), decimal(bin.relevant), count(bin.count)]);
  fillTable(part("reliability-table"), ["mean probability", "relevant", "topics"], bins);
  fillTable(part("gain-table"), ["reviewed", "mean F1 of the others"], review_gain.map(([share, f1]) => [percent(share), decimal(f1)]));
}

function fillTable(table, titles, rows) {
  table.tHead.replaceChildren(make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title))));
  table.tBodies[0].replaceChildren(...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, text)))));
}

const BEST = ["topic", "documents", "assigned", "precision", "recall", "F1", "F1 lately", "AvgP", "share", "share lately"];
const WORST = [...BEST, "most wrong documents", "largest weights"];

function showTopics(table, none, titles, topics, whyNone) {
  setText(none, whyNone);
  const rows = topics.map((one) => [
    clamped(one.topic),
    ...[count(one.documents), count(one.assigned), decimal(one.precision), decimal(one.recall), decimal(one.f1), decimal(one.recent_f1)],
    ...[decimal(one.average_precision), fine(one.frequency), fine(one.recent_frequency)],
    clamped(one.worst.map(({ id, relevant }) => `${id} (${relevant ? "missed" : "too likely"})`).join(", ") || "none"),
    one.terms ? clamped(one.terms.map(([term, weight]) => `${term} ${short(weight)}`).join(", ") || "none") : "",
  ].slice(0, titles.length));
  showRows(table, none, titles, rows, topics);
}

function showUnused(note, unused) {
  note.hidden = !unused;
  const [topics, they] = unused === 1 ? ["topic is", "it was"] : ["topics are", "they were"];
  setText(note, `${count(unused)} ${topics} left out here: ${they} neither relevant nor assigned in about the last eighth of the rounds.`);
}

const REVIEW = ["document", "certainty", "assigned topics", "most likely topics"];

function showReview(table, none, { to_review, risk }) {
  setText(none, risk ? "No document was marked for review yet." : "The lane marks no documents, since it has no risk.");
  const newest = [...to_review].reverse();
  const rows = newest.map(({ id, certainty, assigned, untold, likely }) => [
    clamped(id), decimal(certainty), clamped(listed(assigned, untold)),
    clamped(likely.map(([topic, probability]) => `${topic} ${decimal(probability)}`).join(", ")),
  ]);
  showRows(table, none, REVIEW, rows, newest);
}

// Rows whose first cell names them; they are made again only if something has changed.
function showRows(table, none, titles, rows, shown) {
  table.hidden = !rows.length;
  none.hidden = Boolean(rows.length);
  const key = JSON.stringify(shown);
  if (table.dataset.shown === key) return;
  table.dataset.shown = key;
  table.tHead.replaceChildren(make("tr", { role: "row" }, ...titles.map((title) => make("th", { scope: "col", role: "columnheader" }, title))));
  const cell = (content, i) => make("td", { role: "cell", "data-title": titles[i + 1] }, content);
  table.tBodies[0].replaceChildren(
    ...rows.map(([first, ...others]) => make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, first), ...others.map(cell))),
  );
}

const clamped = (text) => make("span", { class: "clamped", title: text }, text);

function listed(assigned, untold) {
  if (!assigned.length) return "none";
  return assigned.join(", ") + (untold ? ` and ${count(untold)} more` : "");
}

// Of a shown document: the probability of the topic at a place of the ranking, and the set.
export const probabilityAt = ({ probabilities }, place) => decimal(probabilities[place] ?? null);

export function decisionNote({ assigned, untold, certainty, review }) {
  const line = make("p", { class: "decided" }, "Assigned: ", make("strong", {}, listed(assigned, untold)), ` \u00b7 certainty ${decimal(certainty)}`);
  if (review) line.append(" ", make("span", { class: "mark" }, "for review"));
  return line;
}
