// The lanes: their switches above the chart, and the table of their measures.
import { count, hidden, make, setText, swatch } from "./dom.js";
import { has } from "./model.js";

const MANY = 7; // with more columns of measures than this, the columns move closer together

export function buildSwitches(place, model, choice, changed) {
  place.replaceChildren(
    ...model.lanes.map((lane, i) => {
      const box = make("input", { type: "checkbox" });
      box.checked = !choice.off.has(lane.name);
      box.addEventListener("change", () => {
        if (box.checked) choice.off.delete(lane.name);
        else choice.off.add(lane.name);
        changed();
      });
      return make("label", {}, box, swatch(i), make("span", {}, lane.name), hidden(""));
    }),
  );
}

// Mark the lanes that have no curve of the chosen measure.
export function markSwitches(place, model, choice) {
  const title = model.measures.find(({ key }) => key === choice.measure)?.title;
  model.lanes.forEach((lane, i) => {
    const label = place.children[i];
    const without = !has(lane, choice.measure);
    label.classList.toggle("without", without);
    setText(label.lastChild, without ? ` (has no ${title})` : "");
    label.title = without ? `${lane.name} has no ${title}` : "";
  });
}

export function buildTable(table, windows, model) {
  const late = model.heading.measures.filter(({ window }) => window !== null);
  setText(windows, late.map(({ title, window }) => ` (${title}: over the last ${count(window)})`).join(""));
  const titles = model.heading.measures.map(({ title }) => title);
  table.classList.toggle("many", titles.length > MANY);
  const header = (title, ...more) => make("th", { scope: "col", role: "columnheader" }, title, ...more);
  const measures = titles.map((title) => header(title, star(false)));
  table.tHead.replaceChildren(make("tr", { role: "row" }, header("lane"), header("rounds"), ...measures));
  table.tBodies[0].replaceChildren(
    ...model.lanes.map((lane, i) =>
      make(
        "tr",
        { role: "row" },
        make("th", { scope: "row", role: "rowheader" }, swatch(i), lane.name),
        make("td", { role: "cell", "data-title": "rounds" }, make("span", {}, make("span"), make("small"))),
        ...titles.map((title) => make("td", { role: "cell", "data-title": title }, make("span"))),
      ),
    ),
  );
}

// A star, or equal space without one, so that numbers stay aligned.
function star(best) {
  return make("span", { class: best ? "star" : "star no", "aria-hidden": "true" }, "\u00a0\u2605");
}

export function updateTable(table, model) {
  model.lanes.forEach((lane, i) => {
    const [, rounds, ...cells] = table.tBodies[0].rows[i].cells;
    const some = lane.rounds_with_topics !== lane.rounds;
    const [all, withTopics] = rounds.firstChild.children;
    setText(all, count(lane.rounds));
    setText(withTopics, some ? `${count(lane.rounds_with_topics)} with topics` : "");
    cells.forEach((cell, j) => {
      const [text, best] = model.table[i][j];
      const shown = cell.firstChild;
      if (shown.dataset.text === text && cell.classList.contains("best") === best) return;
      shown.dataset.text = text;
      cell.classList.toggle("best", best);
      shown.replaceChildren(text, star(best), ...(best ? [hidden(" (best)")] : []));
    });
  });
}
