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
  // the measure.
  points(lane, key, axis) {
    if (!has(lane, key)) return [];
    const { curve, rounds, last } = lane;
    const points = curve.round.map((_, i) => [curve[axis][i], curve[key][i]]);
    if (rounds > (curve.round.at(-1) ?? 0)) {
      const now = { round: rounds, document_ms: this.status.stream_ms, wall_ms: this.status.wall_ms };
      points.push([now[axis], last[key]]);
    }
    return points;
  }

  // The time axis of curves: the time of documents, or the machine's clock if documents have none.
  get timeAxis() {
    const dated = this.lanes.some((lane) => lane.curve.document_ms.some((ms) => ms !== null));
    return dated ? "document_ms" : "wall_ms";
  }
}
