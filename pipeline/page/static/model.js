// The state of the run, put together from the updates. It is bounded like the server's samples:
// 64 points of a curve per doubling of the rounds, and a fixed number of documents.

// Topic lanes and ordinal lanes have different measures.
export const has = (lane, key) => key in lane.curve;

export class Model {
  constructor() {
    this.run = "";
    this.version = 0;
    this.heading = null;
    this.status = null;
    this.lanes = [];
    this.table = [];
    this.against = [];
    this.decisions = []; // of each lane; null if it assigns no topics
    this.documents = new Map(); // by number, oldest first
  }

  // Apply an update; returns whether it starts a new run.
  take(update) {
    const isNew = Boolean(update.heading);
    if (isNew) {
      this.heading = update.heading;
      this.lanes = [];
      this.documents.clear();
    }
    this.run = update.run;
    this.version = update.version;
    this.status = update.status;
    this.table = update.table;
    this.against = update.against;
    this.decisions = update.decisions;
    const before = this.lanes;
    this.lanes = update.lanes.map((lane, i) => {
      if (before[i]) for (const [name, column] of Object.entries(lane.curve)) before[i].curve[name].push(...column);
      return { ...lane, curve: before[i] ? before[i].curve : lane.curve };
    });
    for (const document of update.documents) this.documents.set(document.number, document);
    for (const number of this.documents.keys()) {
      if (this.documents.size <= this.heading.last_documents) break;
      this.documents.delete(number);
    }
    return isNew;
  }

  get measures() {
    return this.heading ? this.heading.measures.filter((measure) => measure.curve) : [];
  }

  // The curve of a lane as pairs [x, value], up to the last round. Empty if the lane does not have
  // the measure. Each value is an average over all rounds or, with `recent`, over the last eighth.
  points(lane, key, axis, recent = false) {
    if (!has(lane, key)) return [];
    const { curve, rounds, last } = lane;
    const isOver = rounds > (curve.round.at(-1) ?? 0);
    const now = { round: rounds, labelled: lane.rounds_with_topics, document_ms: this.status.stream_ms, wall_ms: this.status.wall_ms };
    const column = (name, value) => (isOver ? [...curve[name], value] : curve[name]);
    const measure = this.measures.find((one) => one.key === key);
    const values = column(key, last[key]);
    const shown = recent && measure.window === null
      ? lastEighth(column("round", now.round), column(measure.per, now[measure.per]), values)
      : values;
    const places = column(axis, now[axis]);
    return shown.map((value, i) => [places[i], value]);
  }

  // The changes of a lane as pairs [x, text]. A time is that of the next point of the curve.
  changes(lane, axis) {
    return lane.changes.map(({ round, text }) => {
      const next = lane.curve.round.findIndex((other) => other >= round);
      return [axis === "round" ? round : (lane.curve[axis][next] ?? this.status[axis === "wall_ms" ? "wall_ms" : "stream_ms"]), text];
    });
  }

  // The time axis of curves: the time of documents, or the machine's clock if documents have none.
  get timeAxis() {
    const dated = this.lanes.some((lane) => lane.curve.document_ms.some((ms) => ms !== null));
    return dated ? "document_ms" : "wall_ms";
  }
}

// Averages over the last eighth of the rounds, from averages over all of them. The earlier point is
// the last one at or before 7/8 of the rounds, as in the curves file.
function lastEighth(rounds, counts, averages) {
  let before = -1;
  return rounds.map((round, i) => {
    while (rounds[before + 1] <= (round * 7) / 8) before += 1;
    const [count, sum] = before < 0 ? [0, 0] : [counts[before], counts[before] * (averages[before] ?? 0)];
    return averages[i] === null || counts[i] === count ? null : Math.max(0, (counts[i] * averages[i] - sum) / (counts[i] - count));
  });
}
