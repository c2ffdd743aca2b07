// Which lane is better: the losses of one less those of each other, and how sure one can be of it.
import { count, make, setText, swatch } from "./dom.js";

export const ALWAYS_THE_BEST = ""; // compare whichever lane has the least loss1 by now

// The place of the chosen lane, or if none is chosen of the one that is best so far.
function placeOf(model, chosen) {
  if (model.lanes[chosen]) return chosen;
  const losses = model.lanes.map((lane) => lane.last.loss1 ?? Infinity);
  return losses.indexOf(Math.min(...losses));
}

export function showPairs(table, sureness, model, chosen) {
  if (model.lanes.length < 2) return;
  const place = placeOf(model, chosen);
  const { confidence, compared } = model.heading;
  setText(
    sureness,
    "A lane's loss less that of another, averaged over the rounds in which both were compared: below 0 it loses less. " +
      `In brackets, where this difference is known to lie: ${Math.round(100 * confidence)} % sure of all pairs at once, however often you look.`,
  );
  const key = [model.run, place, ...model.lanes.map(({ name }) => name)].join("\n");
  if (table.dataset.key !== key) {
    table.dataset.key = key;
    build(table, model, place, compared);
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

function build(table, model, place, compared) {
  table.caption.replaceChildren(swatch(place), `${model.lanes[place].name} against the others`);
  const header = (title) => make("th", { scope: "col", role: "columnheader" }, title);
  const cell = (title) => make("td", { role: "cell", "data-title": title }, make("span"));
  const titles = compared.flatMap((title) => [title, `in ${title.split(" ")[0]}`]);
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
