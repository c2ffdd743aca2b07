// Which lane is better: differences in loss between one lane and each other lane, with confidence intervals.
import { count, make, setText, swatch } from "./dom.js";

const withoutUnit = (title) => title.replace(/ %$/, "");
const valueOf = (place) => `lane ${place}`;

// The menu: the lane that is best so far, or one lane by name. Only lanes of one kind are compared.
export function choices(model) {
  const kinds = model.heading.compared;
  const best = kinds.map(({ best_in, titles }) => [`best ${best_in}`, `the best in ${withoutUnit(titles[0])} so far`]);
  const places = kinds.flatMap(({ lanes }) => lanes).sort((a, b) => a - b);
  return [...best, ...places.map((place) => [valueOf(place), model.lanes[place].name])];
}

// The place of the chosen lane; undefined if the choice is "the best so far".
export const placeOf = (model, chosen) => model.lanes.map((_, i) => i).find((i) => valueOf(i) === chosen);

// The menu's value for a lane of this name; other values ("best ...") stand for themselves.
export function choiceOf(model, name) {
  const place = model.lanes.findIndex((lane) => lane.name === name);
  return place < 0 ? name : valueOf(place);
}

function bestOf(model, { lanes, best_in }) {
  const losses = lanes.map((place) => model.lanes[place].last[best_in] ?? Infinity);
  return lanes[losses.indexOf(Math.min(...losses))];
}

export function showPairs(table, sureness, model, chosen) {
  const { confidence, compared } = model.heading;
  if (!compared.length) return;
  const place = placeOf(model, chosen) ?? bestOf(model, compared.find(({ best_in }) => chosen === `best ${best_in}`));
  const { titles, kind } = compared.find(({ lanes }) => lanes.includes(place));
  const pairs = compared.length > 1 ? `pairs of lanes that learn ${kind}` : "pairs of lanes";
  setText(
    sureness,
    "Difference in average loss over the shared rounds (negative: this lane is better), " +
      `with a ${Math.round(100 * confidence)} % confidence interval in brackets. ` +
      `The intervals hold for all ${pairs} together, and stay valid however often you look.`,
  );
  const key = [model.run, place, ...model.lanes.map(({ name }) => name)].join("\n");
  if (table.dataset.key !== key) {
    table.dataset.key = key;
    build(table, model, place, titles);
  }
  model.against[place].forEach(({ other, rounds, losses }, row) => {
    const [, compareds, ...cells] = table.tBodies[0].rows[row].cells;
    setText(compareds.firstChild, count(rounds));
    losses.forEach(([text, better, worse], i) => {
      setText(cells[2 * i].firstChild, text.replaceAll("-", "\u2212"));
      const winner = better ? model.lanes[place] : worse ? model.lanes[other] : null;
      setText(cells[2 * i + 1].firstChild, winner ? `${winner.name} is better` : "undecided so far");
      cells[2 * i + 1].classList.toggle("decided", Boolean(winner));
    });
  });
}

function build(table, model, place, losses) {
  table.caption.replaceChildren(swatch(place), `${model.lanes[place].name} against the others`);
  const header = (title) => make("th", { scope: "col", role: "columnheader" }, title);
  const cell = (title) => make("td", { role: "cell", "data-title": title }, make("span"));
  const titles = losses.flatMap((title) => [title, `in ${withoutUnit(title)}`]);
  table.tHead.replaceChildren(make("tr", { role: "row" }, header("against"), header("rounds"), ...titles.map(header)));
  table.tBodies[0].replaceChildren(
    ...model.against[place].map(({ other }) =>
      make(
        "tr", { role: "row" },
        make("th", { scope: "row", role: "rowheader" }, swatch(other), model.lanes[other].name),
        cell("rounds"),
        ...titles.map(cell),
      ),
    ),
  );
}
