// The last documents: how one lane ranked them, which topics are true, and the terms behind it.
import { colourOf, count, hidden, make, setText, short, signed } from "./dom.js";

export function showDocuments(list, model, lane) {
  const shown = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = [...model.documents.values()].reverse().map((told) => {
    const key = [model.run, lane, model.lanes[lane].name, told.number, told.true !== null].join(" ");
    return shown.get(key) ?? item(told, lane, key);
  });
  if (items.length !== list.children.length || items.some((one, i) => one !== list.children[i])) list.replaceChildren(...items);
}

function item(told, lane, key) {
  const element = make("li", {}, about(told), places(told, lane));
  element.dataset.key = key;
  const more = missed(told, lane);
  if (more) element.append(more);
  return element;
}

function about(told) {
  const facts = [`document ${count(told.number)}`, `after ${count(told.round)} rounds`];
  if (told.time !== null) facts.push(told.time);
  if (told.terms.length) facts.push(`heaviest terms: ${told.terms.map(([term]) => term).join(", ")}`);
  return make(
    "div", { class: "about" },
    make("span", { class: "id clamped", title: told.id }, told.id),
    make("span", { class: "facts clamped" }, facts.join(" \u00b7 ")),
  );
}

function places(told, lane) {
  const trueTopics = new Set((told.true ?? []).map(([topic]) => topic));
  const rows = told.rankings[lane].map(([topic, score, terms], i) => {
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
        ),
      ),
      make("td", { class: "score" }, short(score), strength(score, told.rankings[lane][0][1], lane)),
      make("td", { class: "why" }, why(score, terms)),
    );
  });
  const head = ["rank", "topic", "score", "terms"].map((title) => make("th", { scope: "col" }, title));
  return make("table", { class: "places" }, make("thead", { class: "unseen" }, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

// A bar as long as the score is great, against that of the first topic.
function strength(score, first, lane) {
  const bar = make("span", { class: "strength", "aria-hidden": "true" });
  bar.style.width = `${first > 0 && score > 0 ? (100 * score) / first : 0}%`;
  bar.style.backgroundColor = colourOf(lane);
  return bar;
}

function why(score, terms) {
  const shown = make("span", { class: "terms" });
  if (terms === null) return shown;
  for (const [term, amount] of terms) shown.append(contribution(term, amount));
  // Only the strongest terms are told; what the others add up to is the rest of the score.
  const rest = terms.reduce((left, [, amount]) => left - amount, score ?? 0);
  const roundingErrors = 1e-9 * Math.abs(terms[0]?.[1] ?? 0);
  if (Math.abs(rest) > roundingErrors) shown.append(contribution("others", rest, "others"));
  if (!terms.length) shown.append(make("b", {}, "none of its terms has a weight here"));
  return shown;
}

function contribution(term, amount, kind = "") {
  const name = make("i", { title: term }, term);
  return make("span", { class: `${kind} ${amount < 0 ? "against" : ""}` }, name, " ", make("b", {}, signed(amount)));
}

// True topics that are not among the first, and what else there is to say of the labels.
function missed(told, lane) {
  const line = make("p", { class: "missed" });
  if (told.true === null) line.append("Its labels have not come yet.");
  else if (!told.true.length) line.append("It is labelled with no topic.");
  else {
    const first = new Set(told.rankings[lane].map(([topic]) => topic));
    const others = told.true.filter(([topic]) => !first.has(topic));
    others.sort(([, a], [, b]) => (a[lane] ?? Infinity) - (b[lane] ?? Infinity));
    if (!others.length && !told.untold) return null;
    line.append(others.length ? "Also true: " : "");
    others.forEach(([topic, ranks], i) => {
      const where = ranks[lane] === null ? " (not known before it)" : ` (rank ${count(ranks[lane])})`;
      line.append(i ? ", " : "", make("strong", {}, topic), where);
    });
    if (told.untold) line.append(` and ${count(told.untold)} more`);
  }
  return line;
}

export function explainLane(element, lane) {
  const usual = element.dataset.usual ?? (element.dataset.usual = element.textContent);
  setText(element, !lane || lane.explains ? usual : `This lane (${lane.learner}) weighs no terms, so none explains its rankings.`);
}
