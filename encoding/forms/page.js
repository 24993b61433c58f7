"use strict";
const story = JSON.parse(document.getElementById("story").textContent);
const last = story.steps.length;
const byId = (id) => document.getElementById(id);

// The state after each step: the first one, and what each step changes.
const states = [story.initial];
for (const step of story.steps) states.push({ ...states[states.length - 1], ...step.changes });
const moving = new Set(story.steps.flatMap((step) => Object.keys(step.changes)));

function element(tag, classes, ...inside) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...inside);
  return made;
}

function describe(index) {
  if (index === 0) return [element("h3", "", "Before the first step"), element("p", "what", "→ or j takes the first step.")];
  const step = story.steps[index - 1];
  const parts = [element("h3", "", `${index}. `, element("span", "actor", step.actor), ` ${step.action}`)];
  parts.push(element("p", "what", step.meaning));
  if (step.received) parts.push(element("p", step.late ? "late" : "", step.received));
  for (const line of step.sent) parts.push(element("p", "", line));
  for (const line of step.lost) parts.push(element("p", "lost", line));
  const changes = element("ul", "");
  for (const [name, value] of Object.entries(step.changes)) {
    changes.append(element("li", "", `${name}: ${states[index - 1][name]} → `, element("b", "", value)));
  }
  parts.push(changes);
  for (const line of step.beside ?? []) parts.push(element("p", line.startsWith("≠") ? "beside late" : "beside", line));
  if (index === last) parts.push(element("p", "end", `Here ${story.property} is violated.`));
  return parts;
}

function chip(variable, index) {
  const value = states[index][variable.name];
  const before = index > 0 ? states[index - 1][variable.name] : value;
  const classes = [value !== states[0][variable.name] ? "moved" : "", value !== before ? "now" : ""];
  const label = variable.index ? `[${variable.index}] ` : "";
  const made = element("li", classes.join(" ").trim(), label, element("b", "", value));
  made.dataset.variable = variable.name;
  return made;
}

function families(index, everything) {
  const parts = [];
  let told = true;
  for (const family of story.families) {
    const variables = family.variables.filter((v) => everything || moving.has(v.name));
    if (!variables.length) continue;
    if (told && !family.tells) parts.push(element("h4", "", "What has been handled, answered and done"));
    told = family.tells;
    const title = element("h3", "", family.name);
    if (family.at_stake) title.append(" ", element("em", "", "read by the property"));
    parts.push(element("section", "", title, element("ul", "", ...variables.map((v) => chip(v, index)))));
  }
  return parts;
}

function paint(index) {
  document.body.classList.toggle("stepping", index > 0); // before the first step all is seen at once
  for (const part of document.querySelectorAll("svg [data-step]")) {
    const step = Number(part.dataset.step);
    part.classList.toggle("current", step === index);
    part.classList.toggle("future", step > index);
  }
  for (const part of document.querySelectorAll("svg [data-sent]")) {
    const sent = Number(part.dataset.sent);
    const received = part.dataset.received ? Number(part.dataset.received) : Infinity;
    part.classList.toggle("future", sent > index);
    part.classList.toggle("air", sent <= index && index < received && received !== Infinity);
    part.classList.toggle("arriving", received === index);
  }
}

let current = -1;

function show(index, scroll = true) {
  index = Math.max(0, Math.min(last, index));
  if (index === current) return;
  current = index;
  paint(index);
  byId("place").textContent = index ? `step ${index} of ${last}` : `before step 1 of ${last}`;
  byId("slider").value = index;
  byId("when").textContent = index ? `after step ${index}` : "at first";
  byId("step").replaceChildren(...describe(index));
  byId("state").replaceChildren(...families(index, byId("all").checked));
  history.replaceState(null, "", `#step=${index}`);
  const row = document.querySelector(`svg .row[data-step="${index}"]`);
  if (scroll && row) reveal(row);
}

function reveal(row) {
  const box = row.getBoundingClientRect();
  const above = document.querySelector(".heads").getBoundingClientRect().height + 40;
  if (box.top < above) window.scrollBy({ top: box.top - above });
  else if (box.bottom > window.innerHeight - 60) window.scrollBy({ top: box.bottom - window.innerHeight + 60 });
}

const moves = { first: () => 0, back: () => current - 1, on: () => current + 1, last: () => last };
const keys = {
  ArrowRight: "on", ArrowDown: "on", j: "on", ArrowLeft: "back", ArrowUp: "back", k: "back", Home: "first", End: "last",
};

document.addEventListener("keydown", (event) => {
  const move = keys[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  show(moves[move]());
});
for (const button of document.querySelectorAll("[data-go]")) {
  button.addEventListener("click", () => show(moves[button.dataset.go]()));
}
for (const row of document.querySelectorAll("svg .row[data-step]")) {
  row.addEventListener("click", () => show(Number(row.dataset.step), false));
}
byId("slider").addEventListener("input", (event) => show(Number(event.target.value)));
byId("all").addEventListener("change", () => byId("state").replaceChildren(...families(current, byId("all").checked)));

function asked() {
  const found = /^#step=(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}
window.addEventListener("hashchange", () => { if (asked() !== null) show(asked()); });
show(asked() ?? 0, asked() !== null);
