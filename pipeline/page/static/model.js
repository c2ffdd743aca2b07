// What is known of the run, put together from the updates. It grows no further than the server's
// samples do: curves by a few points to a doubling of the rounds, documents up to a fixed number.

// Lanes of topics and lanes of ranks have different measures.
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

  // Take an update in; says whether a run was begun anew.
  take(update) {
    const anew = Boolean(update.heading);
    if (anew) {
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
    return anew;
  }

  get measures() {
    return this.heading ? this.heading.measures.filter((measure) => measure.curve) : [];
  }

  // A lane's curve over an axis, up to where it stands now: [x, value] each. None if its kind of
  // lanes does not have the measure.
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

  // The time to draw curves over: that of the documents, or this machine's if they have none.
  get timeAxis() {
    const told = this.lanes.some((lane) => lane.curve.document_ms.some((ms) => ms !== null));
    return told ? "document_ms" : "wall_ms";
  }
}
