// Everything from the server or the user is put into the page as text, never as markup.

const byId = (id) => document.getElementById(id);
const ordered = new Set(); // the lanes that rank by probability
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function ask(path, body) {
  const headers = {};
  if (byId("token").value) headers.Authorization = `Bearer ${byId("token").value}`;
  if (body) headers["Content-Type"] = "application/json";
  const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, options);
  if (response.status === 401) byId("token-label").hidden = false;
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.detail);
  return answer;
}

function showProblem(error) {
  byId("problem").hidden = !error;
  byId("problem").textContent = error ? error.message : "";
}

function showModel(model) {
  const age = Math.round(model.age_seconds);
  byId("model").textContent =
    `${model.files.join(", ")}: ${model.documents.toLocaleString("en")} documents, ${age} s old`;
}

function termsOf(terms) {
  if (terms === null) return "not a sum over terms";
  return terms.map(({ term, weight }) => `${term} ${number.format(weight)}`).join(", ");
}

function row(cells) {
  const made = element("tr");
  made.append(...cells);
  return made;
}

function table(event) {
  const made = element("table");
  const isRank = event.ranking === undefined;
  const places = isRank ? [{ ...event, topic: String(event.rank) }] : event.ranking;
  const numbers = places[0]?.probability === undefined ? ["Score"] : ["Score", "Probability"];
  const heads = [isRank ? "Rank" : "Topic", ...numbers, "Terms that contributed most to the score"];
  made.append(row(heads.map((text) => {
    const head = element("th", text, numbers.includes(text) ? "number" : "");
    head.scope = "col";
    return head;
  })));
  for (const { topic, score, probability, terms } of places) {
    const name = event.assigned?.includes(topic) ? `${topic} (assigned)` : topic;
    const values = [number.format(score)];
    if (numbers.length > 1) values.push(probability === undefined ? "" : probability.toFixed(3));
    const cells = values.map((value) => element("td", value, "number"));
    made.append(row([element("td", name), ...cells, element("td", termsOf(terms))]));
  }
  return made;
}

// What a lane that assigns topics says beside its ranking.
function decided({ assigned, certainty, review }) {
  const facts = [`Assigned: ${assigned.join(", ") || "no topic"}`, `certainty ${certainty.toFixed(3)}`];
  if (review !== undefined) facts.push(review ? "somebody should review it" : "no review needed");
  return element("p", `${facts.join("; ")}.`);
}

const BY_PROBABILITY =
  "The first ten topics are in the order of their probabilities, so a score can be lower than the next one. " +
  "Further topics are in the order of their scores.";

function showRankings(answer) {
  const parts = answer.rankings.flatMap((event) => {
    const made = [element("h2", `${event.lane}, after ${event.round.toLocaleString("en")} rounds`)];
    if (event.assigned !== undefined) made.push(decided(event));
    if (ordered.has(event.lane)) made.push(element("p", BY_PROBABILITY, "soft"));
    return [...made, table(event)];
  });
  byId("rankings").replaceChildren(...parts);
  showModel(answer.model);
}

async function rank() {
  const body = { text: byId("text").value, why: true, top: Number(byId("top").value) };
  if (byId("lane").value) body.lane = byId("lane").value;
  byId("state").textContent = "ranking";
  try {
    const answer = await ask("v1/rank", body);
    if (byId("lane").length === 1) await describe(); // the first time, it had no token
    showRankings(answer);
    showProblem(null);
    byId("state").textContent = "ranked";
  } catch (error) {
    byId("rankings").replaceChildren();
    byId("state").textContent = "";
    showProblem(error);
  }
}

async function describe() {
  showModel(await ask("v1/model"));
  const { lanes } = await ask("v1/lanes");
  for (const { name, settings } of lanes) {
    if (settings.order === "probability") ordered.add(name);
    const option = element("option", name);
    option.value = name;
    byId("lane").append(option);
  }
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  rank();
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    rank();
  }
});
describe().catch(showProblem);
