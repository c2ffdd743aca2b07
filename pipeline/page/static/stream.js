// The state of the run: progress through the source, speed, and counts.
import { count, duration, make, setText } from "./dom.js";

const STATES = {
  starting: "starting",
  running: "running",
  ended: "ended",
  interrupted: "interrupted",
  failed: "failed",
  frozen: "page failed",
  lost: "connection lost",
};
const NOTES = {
  frozen: "The page failed and no longer updates. The run continues; its log has the details.",
  lost: "The run does not answer: it has ended, or the connection is broken. The page shows the last known state.",
};

export function showState(stateElement, noteElement, state, note = "") {
  setText(stateElement, STATES[state] ?? state);
  stateElement.dataset.state = state;
  const text = note || NOTES[state] || "";
  setText(noteElement, text);
  noteElement.hidden = !text;
}

const COUNTED = { events: "Events read", records: "Log records read" };

export function showThrough(bar, label, text, status, counted) {
  setText(label, COUNTED[counted] ?? counted);
  const { read, total, rate } = status;
  bar.hidden = !total;
  let shown = count(read);
  if (total) {
    bar.value = Math.min(1, read / total);
    shown += ` of ${count(total)} (${Math.floor((100 * read) / total)} %)`;
    const left = total - read;
    if (status.state === "running" && left > 0) {
      shown += `, ${count(left)} left`;
      if (rate && counted === "events") shown += `, about ${duration(left / rate)}`;
    }
  }
  setText(text, shown);
}

export function showFigures(list, { status, lanes }) {
  const groups = status.groups.length ? status.groups : [{ kind: "topics", rounds: 0, waiting: 0, unmatched: 0 }]; // no lane yet
  const both = groups.length > 1; // topics and ranks, which have rounds of their own
  const ranks = lanes.find((lane) => lane.ranks !== null)?.ranks;
  const running = status.state === "running";
  const speed = running ? status.rate : status.average_rate;
  const beside = running && status.average_rate !== null ? `${count(status.average_rate)} on average` : "over the whole run";
  const figures = [
    ["Documents ranked", count(status.documents)],
    ...groups.map(({ kind, rounds }) => [both ? `Rounds (${kind})` : "Rounds learned", count(rounds)]),
    ["Documents/s", speed === null ? "n.a." : count(speed), beside],
  ];
  if (groups.some(({ kind }) => kind === "topics")) figures.push(["Topics", count(status.topics)]);
  if (ranks) figures.push(["Ranks", count(ranks)]);
  figures.push(["Terms", count(status.terms)]);
  for (const { kind, waiting, unmatched } of groups) {
    if (waiting) figures.push([`Waiting for ${both ? kind : "labels"}`, count(waiting)]);
    if (unmatched) figures.push([`Late ${both ? kind : "labels"} without a document`, count(unmatched)]);
  }
  if (status.put_aside) figures.push(["Dead letters", count(status.put_aside)]);
  if (status.behind.length) figures.push(["Lanes catching up", count(status.behind.length), status.behind.join(", ")]);
  if (status.stream_time !== null) {
    const [day, hour = ""] = status.stream_time.split(/[Tt ]/);
    figures.push(["Stream time", day, hour]);
  }
  const titles = figures.map(([title]) => title).join();
  if (list.dataset.titles !== titles) {
    list.dataset.titles = titles;
    list.replaceChildren(...figures.map(([title]) => make("div", {}, make("dt", {}, title), make("dd", {}, make("span"), make("small")))));
  }
  figures.forEach(([, value, note = ""], i) => {
    const [shown, small] = list.children[i].lastChild.children;
    setText(shown, value);
    setText(small, note);
  });
}
