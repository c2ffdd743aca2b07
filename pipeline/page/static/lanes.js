// The lanes: their switches above the chart, and the table of their measures.
import { count, hidden, make, setText, swatch } from "./dom.js";

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
      return make("label", {}, box, swatch(i), make("span", {}, lane.name));
    }),
  );
}

export function buildTable(table, model) {
  const titles = model.heading.measures.map(({ title }) => title);
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

// A star, or the room that one would take, so that numbers stay in line.
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
