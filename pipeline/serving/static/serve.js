// Everything from the server or the user is put into the page as text, never as markup.

const byId = (id) => document.getElementById(id);
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
  const heads = [isRank ? "Rank" : "Topic", "Score", "Terms that contributed most"];
  made.append(row(heads.map((text, i) => {
    const head = element("th", text, i === 1 ? "number" : "");
    head.scope = "col";
    return head;
  })));
  const places = isRank ? [{ ...event, topic: String(event.rank) }] : event.ranking;
  for (const { topic, score, terms } of places) {
    const value = element("td", number.format(score), "number");
    made.append(row([element("td", topic), value, element("td", termsOf(terms))]));
  }
  return made;
}

function showRankings(answer) {
  const parts = answer.rankings.flatMap((event) => {
    const title = element("h2", `${event.lane}, after ${event.round.toLocaleString("en")} rounds`);
    return [title, table(event)];
  });
  byId("rankings").replaceChildren(...parts);
  showModel(answer.model);
}

async function rank() {
  const body = { text: byId("text").value, why: true, top: Number(byId("top").value) };
  if (byId("lane").value) body.lane = byId("lane").value;
  byId("state").textContent = "ranking";
  try {
    showRankings(await ask("v1/rank", body));
    showProblem(null);
    byId("state").textContent = "ranked";
    if (byId("lane").length === 1) await describe();
  } catch (error) {
    byId("rankings").replaceChildren();
    byId("state").textContent = "";
    showProblem(error);
  }
}

async function describe() {
  showModel(await ask("v1/model"));
  const { lanes } = await ask("v1/lanes");
  for (const { name } of lanes) {
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
