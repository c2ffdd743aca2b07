// The last documents: how one lane ranked them, their true topics or rank, and the terms that contributed.
import { decisionNote, probabilityAt } from "./decisions.js";
import { colourOf, count, hidden, make, setText, short, signed } from "./dom.js";

export function showDocuments(list, model, lane) {
  const shown = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = [...model.documents.values()].reverse().map((doc) => {
    const key = [model.run, lane, model.lanes[lane].name, doc.number, doc.true !== null, doc.rank].join(" ");
    return shown.get(key) ?? item(doc, lane, key, model.lanes[lane].ranks);
  });
  if (items.length !== list.children.length || items.some((one, i) => one !== list.children[i])) list.replaceChildren(...items);
}

function item(doc, lane, key, ranks) {
  const element = make("li", {}, about(doc, lane), ranks === null ? places(doc, lane) : predictedRank(doc, lane));
  element.dataset.key = key;
  if (doc.decisions[lane]) element.append(decisionNote(doc.decisions[lane]));
  const more = ranks === null ? topicNote(doc, lane) : rankNote(doc, ranks);
  if (more) element.append(more);
  return element;
}

function about(doc, lane) {
  const facts = [`document ${count(doc.number)}`, `after ${count(doc.rounds[lane])} rounds`];
  if (doc.time !== null) facts.push(doc.time);
  if (doc.terms.length) facts.push(`heaviest terms: ${doc.terms.map(([term]) => term).join(", ")}`);
  return make(
    "div", { class: "about" },
    make("span", { class: "id clamped", title: doc.id }, doc.id),
    make("span", { class: "facts clamped" }, facts.join(" \u00b7 ")),
  );
}

function places(doc, lane) {
  const trueTopics = new Set((doc.true ?? []).map(([topic]) => topic));
  const decided = doc.decisions[lane]; // null if the lane assigns no topics
  const highest = Math.max(...doc.rankings[lane].map(([, score]) => score));
  const rows = doc.rankings[lane].map(([topic, score, terms], i) => {
    const isTrue = trueTopics.has(topic);
    return make(
      "tr", { class: isTrue ? "true" : "" },
      make("td", {}, i + 1),
      make(
        "td", { class: "topic" },
        make(
          "div", {},
          make("span", { class: "tick", "aria-hidden": "true" }, isTrue ? "\u2713" : ""),
          make("span", { class: "name clamped", title: topic }, topic),
          ...(isTrue ? [hidden(" (true)")] : []),
          ...(decided?.assigned.includes(topic) ? [make("span", { class: "chip" }, "assigned")] : []),
        ),
      ),
      make("td", { class: "score" }, short(score), strength(score, highest, lane)),
      ...(decided ? [make("td", { class: "probability" }, probabilityAt(decided, i))] : []),
      make("td", { class: "why" }, why(score, terms)),
    );
  });
  if (decided) return tableOf("places with-sets", ["#", "topic", "score", "probability", "terms"], rows, "titles");
  return tableOf("places", ["rank", "topic", "score", "terms"], rows);
}

// The predicted rank of an ordinal lane, and the true rank if it is known.
function predictedRank(doc, lane) {
  const [[predicted, score, terms]] = doc.rankings[lane];
  const hit = predicted === `rank ${doc.rank}`;
  const row = make(
    "tr", { class: hit ? "true" : "" },
    make(
      "td", { class: "topic" },
      make(
        "div", {},
        make("span", { class: "tick", "aria-hidden": "true" }, hit ? "\u2713" : ""),
        make("span", { class: "name" }, doc.rank === null ? predicted : `${predicted} (true ${doc.rank})`),
      ),
    ),
    make("td", { class: "score" }, short(score)),
    make("td", { class: "why" }, why(score, terms)),
  );
  return tableOf("places predicted", ["rank", "score", "terms"], [row]);
}

// Titles are shown only where one could not tell two numbers apart.
function tableOf(kind, titles, rows, head = "unseen") {
  const cells = titles.map((title) => make("th", { scope: "col", class: title === "#" ? "" : title }, title));
  return make("table", { class: kind }, make("thead", { class: head }, make("tr", {}, ...cells)), make("tbody", {}, ...rows));
}

// A bar whose length is the score relative to the highest score.
function strength(score, highest, lane) {
  const bar = make("span", { class: "strength", "aria-hidden": "true" });
  bar.style.width = `${highest > 0 && score > 0 ? (100 * score) / highest : 0}%`;
  bar.style.backgroundColor = colourOf(lane);
  return bar;
}

function why(score, terms) {
  const shown = make("span", { class: "terms" });
  if (terms === null) return shown;
  for (const [term, amount] of terms) shown.append(contribution(term, amount));
  // Only the strongest terms are sent; the other terms add up to the rest of the score.
  const rest = terms.reduce((left, [, amount]) => left - amount, score ?? 0);
  const roundingErrors = 1e-9 * Math.abs(terms[0]?.[1] ?? 0);
  if (Math.abs(rest) > roundingErrors) shown.append(contribution("others", rest, "others"));
  if (!terms.length) shown.append(make("span", { class: "others" }, "no term of the document has a weight here"));
  return shown;
}

function contribution(term, amount, kind = "") {
  const name = make("i", { title: term }, term);
  return make("span", { class: `${kind} ${amount < 0 ? "against" : ""}` }, name, " ", make("b", {}, signed(amount)));
}

// True topics below the shown ones, or a note about the labels.
function topicNote(doc, lane) {
  const line = make("p", { class: "missed" });
  if (doc.true === null) line.append("No labels yet.");
  else if (!doc.true.length) line.append("Labelled with no topic.");
  else {
    const first = new Set(doc.rankings[lane].map(([topic]) => topic));
    const others = doc.true.filter(([topic]) => !first.has(topic));
    others.sort(([, a], [, b]) => (a[lane] ?? Infinity) - (b[lane] ?? Infinity));
    if (!others.length && !doc.untold) return null;
    line.append(others.length ? "Also true: " : "");
    others.forEach(([topic, ranks], i) => {
      const where = ranks[lane] === null ? " (new: not in the ranking)" : ` (rank ${count(ranks[lane])})`;
      line.append(i ? ", " : "", make("strong", {}, topic), where);
    });
    if (doc.untold) line.append(` and ${count(doc.untold)} more`);
  }
  return line;
}

function rankNote(doc, ranks) {
  if (doc.rank === null) return make("p", { class: "missed" }, "No rank yet.");
  return doc.rank > ranks ? make("p", { class: "missed" }, `The rank is above the highest rank, ${count(ranks)}, so the document is not learned.`) : null;
}

const BY_PROBABILITY =
  "The first ten topics of each ranking are in the order of their probabilities, so a score can be lower than the next one. " +
  "A probability also depends on which other topics are likely.";
const RANKS_EXPLAINED =
  "The predicted and the true rank, with the terms that contributed most to the score. A contribution is " +
  "the term's value in the document times its weight at the time of the ranking.";

export function explainLane(element, lane, decisions) {
  const topics = element.dataset.usual ?? (element.dataset.usual = element.textContent);
  const usual = lane && lane.ranks !== null ? RANKS_EXPLAINED : topics;
  const terms = !lane || lane.explains ? usual : `This lane (${lane.learner}) has no weights for terms, so its rankings are shown without them.`;
  setText(element, decisions?.order === "probability" ? `${terms} ${BY_PROBABILITY}` : terms);
}
