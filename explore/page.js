const byId = (id) => document.getElementById(id);
const TOKEN = "fencepost-token";
let path = { moves: [], at: 0 };
let seen = null; // the last answer of the server about the path
let asking = 0; // the question whose answer is shown

function element(tag, classes, ...inside) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...inside);
  return made;
}

// The address: `#at=2&m=…&m=…` is the path. The first address also has a token, which is removed at once.
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("token")) localStorage.setItem(TOKEN, given.get("token"));
  const moves = given.getAll("m");
  if (!given.has("at")) return null;
  return { moves, at: Number(given.get("at")) };
}

function writeAddress() {
  const said = new URLSearchParams([["at", path.at], ...path.moves.map((name) => ["m", name])]);
  const address = `#${said}`;
  if (address !== location.hash) history.pushState(null, "", address);
}

async function post(route, body = {}) {
  const response = await fetch(`api/${route}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Fencepost-Token": localStorage.getItem(TOKEN) ?? "" },
    body: JSON.stringify(body),
  });
  if (response.status === 403) throw new Error(await response.text());
  const said = await response.json();
  if (!response.ok) throw new Error(said.error);
  return said;
}

function complain(error) {
  byId("error").hidden = !error;
  byId("error").textContent = error ? error.message : "";
}

// An answer that arrives after a later request was made is dropped.
let turn = 0;
let wanted = path; // the path of the last answer, or of the one that is awaited
async function go(next, remember = true) {
  const mine = ++turn;
  wanted = next;
  try {
    const said = await post("look", next);
    if (mine !== turn) return;
    path = next;
    seen = said.view;
    complain(null);
    if (remember) writeAddress();
    paint(said.diagram);
  } catch (error) {
    if (mine !== turn) return;
    wanted = path;
    complain(error);
  }
}

const take = (name) => go({ moves: [...path.moves.slice(0, path.at), name], at: path.at + 1 });
const to = (at) => {
  if (at >= 0 && at <= wanted.moves.length && at !== wanted.at) go({ moves: wanted.moves, at });
};
const back = () => to(wanted.at - 1);
const on = () => to(wanted.at + 1);

// Painting.

let diagram = null;
window.addEventListener("resize", () => { if (seen) diagram.reveal(seen.step); });

function paint(drawn) {
  byId("place").textContent = seen.at ? `move ${seen.at} of ${seen.moves.length}, step ${seen.step}` : "at first";
  byId("undo").disabled = byId("first").disabled = !path.at;
  byId("redo").disabled = byId("last").disabled = path.at === path.moves.length;
  document.body.classList.toggle("violated", seen.violated !== null);
  byId("drawn").innerHTML = drawn; // made by the server, which escapes texts of the protocol
  const box = byId("drawn").querySelector(".diagram");
  diagram = new Diagram(box, (step) => to(placeOf(step)));
  diagram.paint(seen.step);
  diagram.reveal(seen.step);
  byId("now").replaceChildren(...now());
  byId("possible").replaceChildren(...[...seen.possible, ...seen.beginnings].map(offer));
  byId("under_way").replaceChildren(...seen.under_way.map(message));
  byId("under_way").parentElement.hidden = !seen.under_way.length;
  paintClaims();
  paintRefused();
  paintPath();
  paintState();
  paintQuestion();
  forgetAnswer();
}

// The position in the path after the move of that step.
function placeOf(step) {
  return step ? seen.moves.findIndex((move) => move.step === step) + 1 : 0;
}

function now() {
  if (!seen.at) return [element("p", "soft", "Nothing has happened yet. Choose the first action.")];
  const made = seen.moves[seen.at - 1];
  const parts = [element("h2", "", made.step === null ? made.words : `${made.step}. ${made.words}`)];
  if (seen.violated) parts.push(element("p", "bad", `${seen.violated} is violated here.`));
  if (seen.explanation) parts.push(element("p", "bad", seen.explanation));
  if (seen.repeats !== null) {
    const where = seen.repeats ? `after step ${seen.repeats}` : "at first";
    parts.push(element("p", "soft", `The state is the one ${where}. The steps since then may be repeated for ever.`));
  }
  const news = seen.claims.filter((one) => !one.is_property && made.step !== null && one.false_since === seen.step);
  for (const one of news) parts.push(element("p", "late", `The invariant ${one.name} is false from here on: ${one.meaning}.`));
  if (seen.no_longer.length) {
    const gone = seen.no_longer.flatMap((call, index) => [index ? "; " : "", asks(inWords(call), inWords(call))]);
    parts.push(element("p", "no_longer", "No longer possible: ", ...gone));
  }
  return parts;
}

// An action as every part of the page writes it: its actor, and its arguments by name.
const inWords = (call) => `${call.actor} ${call.words}`;

// A word that, when it is clicked, asks how the goal can be reached.
function asks(words, goal, classes = "asks") {
  const made = element("button", classes, words);
  made.type = "button";
  made.title = "How can it become possible from here?";
  made.addEventListener("click", () => { byId("goal").value = goal; paintQuestion(); ask(); });
  return made;
}

function offer(one, index) {
  const button = element("button", one.is_fault ? "action fault" : "action", element("b", "", one.actor), ` ${one.words}`);
  button.type = "button";
  button.title = one.meaning;
  button.dataset.action = one.name;
  button.disabled = one.error !== null;
  button.addEventListener("click", () => take(one.name));
  const item = element("li", "", button);
  item.value = index + 1;
  if (one.error) item.append(element("p", "bad", one.error));
  if (one.received) item.append(element("p", "", `← ${one.received}`));
  for (const line of one.sent) item.append(element("p", "", `→ ${line}`));
  const changes = element("p", "changes");
  for (const change of one.changes) {
    changes.append(element("span", "", `${change.name}: ${change.before} → `, element("b", "", change.after)));
  }
  item.append(changes);
  for (const name of one.breaks) item.append(element("p", "late", `would make ${name} false`));
  return item;
}

function message(one) {
  const item = element("li", "", element("b", "", `${one.sender} → ${one.receiver}`), ` ${one.words} `, element("small", "", `step ${one.sent}`));
  if (one.choice) {
    const lose = element("button", "lose", "lose");
    lose.type = "button";
    lose.dataset.choice = one.choice;
    lose.title = "Lose this message: it never arrives";
    lose.addEventListener("click", () => take(`lose ${one.choice}`));
    item.append(" ", lose);
  }
  return item;
}

// The claims that are false are in view; the others are folded.
function paintClaims() {
  const isTrue = seen.claims.filter((one) => one.holds);
  const all = isTrue.length === seen.claims.length;
  byId("broken").replaceChildren(...seen.claims.filter((one) => !one.holds).map(claim));
  byId("claims").querySelector("span").textContent = all ? `(${isTrue.length}, all true)` : `(${isTrue.length} of ${seen.claims.length} true)`;
  byId("claims").querySelector("ul").replaceChildren(...isTrue.map(claim));
}

function claim(one) {
  const name = asks(one.name, one.name, one.is_property ? "claim property" : "claim");
  name.title = `${one.meaning}. A click asks how it can become false from here.`;
  const since = one.false_since === null ? "" : ` first false after step ${one.false_since}`;
  const meaning = one.is_property || !one.holds ? ` ${one.meaning}` : "";
  const classes = `${one.holds ? "holds" : "false"}${meaning ? " explained" : ""}`;
  const item = element("li", classes, element("span", "mark", one.holds ? "✓" : "✗"), " ", name, element("small", "", meaning), element("small", "since", since));
  item.dataset.claim = one.name;
  return item;
}

function paintRefused() {
  const part = byId("filter").value.toLowerCase();
  const shown = seen.refused.filter((one) => `${inWords(one.call)} ${one.call.name}`.toLowerCase().includes(part));
  byId("refused").querySelector("span").textContent = `(${seen.refused.length})`;
  byId("refused").querySelector("ul").replaceChildren(...shown.slice(0, 200).map((one) => {
    const name = element("button", "why", element("b", "", one.call.actor), ` ${one.call.words}`);
    name.type = "button";
    name.dataset.refused = one.call.name;
    name.addEventListener("click", () => why(one.call, item));
    const lacks = one.is_over ? "never again, because of a loss" : `${one.lacks} false`;
    const item = element("li", one.is_over ? "over" : "", name, " ", element("small", "", lacks));
    return item;
  }));
}

function paintPath() {
  byId("path").querySelector("span").textContent = `(${seen.moves.length})`;
  byId("path").querySelector("ol").replaceChildren(...seen.moves.map((move, index) => {
    const name = element("button", "", move.words);
    name.type = "button";
    name.addEventListener("click", () => to(index + 1));
    const begins = seen.repeats !== null && index === placeOf(seen.repeats);
    return element("li", index < seen.at ? "" : "undone", ...(begins ? [element("p", "soft", "the loop begins here")] : []), name);
  }));
  byId("path").hidden = !seen.moves.length;
}

function paintState() {
  const everything = byId("all").checked;
  const parts = [];
  for (const family of seen.families) {
    const shown = family.values.filter((value) => everything || value.moved);
    if (!shown.length) continue;
    const list = element("ul", "", ...shown.map((value) => {
      const chip = element("li", `${value.moved ? "moved" : ""} ${value.now ? "now" : ""}`, value.index ? `[${value.index}] ` : "", element("b", "", value.value));
      chip.dataset.variable = value.name;
      return chip;
    }));
    parts.push(element("section", "", element("h3", "", family.name), list));
  }
  byId("state").querySelector("div").replaceChildren(...parts);
}

// Questions.

// The question says what the goal becomes: an action possible, a property or invariant false, an expression true.
function paintQuestion() {
  const goal = byId("goal").value.trim();
  const calls = [...seen.possible, ...seen.refused.map((one) => one.call)];
  const isAction = calls.some((call) => goal === call.name || goal === inWords(call));
  const becomes = isAction ? "possible" : seen.claims.some((one) => one.name === goal) ? "false" : "true";
  byId("ask").querySelector("label").textContent = goal ? `How can this become ${becomes} from here?` : "How can this come about from here?";
  byId("kinds").hidden = goal !== "";
}

async function why(call, item) {
  try {
    const answer = await post("why", { ...path, action: call.name });
    item.querySelector(".reasons")?.remove();
    const box = element("div", "reasons", reasons(answer.reasons));
    box.append(asks("how can it become possible?", inWords(call), "how"));
    item.append(box);
  } catch (error) { complain(error); }
}

function reasons(list) {
  return element("ul", "", ...list.map((one) => {
    const item = element("li", "", element("code", "", one.text));
    if (one.values.length) item.append(element("small", "", ` ${one.values.join(", ")}`));
    if (one.for_ever) item.append(element("em", "", " for ever, because of a loss"));
    if (one.because.length) item.append(reasons(one.because));
    return item;
  }));
}

function forgetAnswer() {
  if (!asking) return;
  asking = 0;
  post("stop").catch(() => {});
  byId("stop").hidden = true;
  byId("answer").replaceChildren();
}

async function ask() {
  const goal = byId("goal").value.trim();
  if (!goal) return;
  const mine = asking = Math.random();
  byId("answer").replaceChildren();
  byId("stop").hidden = false;
  byId("ask").scrollIntoView({ block: "nearest" });
  try {
    let answer = await post("ask", { ...path, goal });
    complain(null);
    while (mine === asking) {
      tell(answer);
      if (answer.over) break;
      await new Promise((done) => setTimeout(done, 200));
      if (mine === asking) answer = await post("answer");
    }
  } catch (error) { if (mine === asking) { byId("answer").replaceChildren(); complain(error); } }
  if (mine === asking) byId("stop").hidden = true;
}

function tell(answer) {
  const parts = [element("p", answer.over ? "over" : "", element("b", "", answer.goal), `: ${answer.says}`)];
  if (!answer.over) parts.push(element("p", "soft", answer.doing));
  if (answer.way.length) {
    const moves = [...path.moves.slice(0, path.at), ...answer.way.map((move) => move.name)];
    const all = element("button", "way", `take ${answer.way.length === 1 ? "this move" : `these ${answer.way.length} moves`}`);
    all.type = "button";
    all.addEventListener("click", () => go({ moves, at: moves.length }));
    const one = element("button", "way_one", "only the first");
    one.type = "button";
    one.addEventListener("click", () => go({ moves, at: path.at + 1 }));
    parts.push(element("ol", "", ...answer.way.map((move) => element("li", "", move.words))), all, " ", one);
  }
  byId("answer").replaceChildren(...parts);
}

// Files.

async function save() {
  try {
    const said = await post("save", path);
    const link = element("a", "");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(said.document, null, 2), "\n"], { type: "application/json" }));
    link.download = said.name;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) { complain(error); }
}

async function open(file) {
  try { go(await post("open", { document: JSON.parse(await file.text()) })); } catch (error) { complain(error); }
}

// Keys and buttons.

const moves = {
  u: back, ArrowLeft: back, r: on, ArrowRight: on,
  Home: () => to(0), End: () => to(path.moves.length), s: save,
  "/": () => byId("goal").focus(), n: () => { byId("refused").open = true; byId("filter").focus(); },
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.activeElement?.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
  const chosen = /^[1-9]$/.test(event.key) && wanted === path ? [...seen?.possible ?? [], ...seen?.beginnings ?? []][Number(event.key) - 1] : null;
  if (chosen && chosen.error === null) take(chosen.name);
  else if (moves[event.key] && seen) moves[event.key]();
  else return;
  event.preventDefault();
});
byId("first").addEventListener("click", () => to(0));
byId("undo").addEventListener("click", back);
byId("redo").addEventListener("click", on);
byId("last").addEventListener("click", () => to(path.moves.length));
byId("save").addEventListener("click", save);
byId("open").addEventListener("change", (event) => { if (event.target.files[0]) open(event.target.files[0]); event.target.value = ""; });
byId("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
byId("goal").addEventListener("input", () => { if (seen) paintQuestion(); });
byId("stop").addEventListener("click", () => post("stop").catch(complain));
byId("filter").addEventListener("input", paintRefused);
byId("all").addEventListener("change", paintState);
window.addEventListener("popstate", () => { const asked = readAddress(); if (asked) go(asked, false); });

async function begin() {
  const asked = readAddress();
  try {
    const instance = await post("begin");
    document.title = `${instance.protocol}: explore`;
    byId("protocol").textContent = instance.protocol;
    byId("protocol").title = instance.summary;
    const settings = { ...instance.parameters, ...instance.switches };
    byId("settings").textContent = Object.entries(settings).map(([name, value]) => `${name}=${value}`).join(" ");
    path = asked ?? { moves: instance.moves, at: instance.at };
    history.replaceState(null, "", location.pathname);
    await go(path);
  } catch (error) { complain(error); }
}
begin();
