const counterexample = JSON.parse(document.getElementById("counterexample").textContent);
const last = counterexample.steps.length;
const byId = (id) => document.getElementById(id);

// The state after each step: the initial state, and then the changes of each step.
const states = [counterexample.initial];
for (const step of counterexample.steps) states.push({ ...states[states.length - 1], ...step.changes });
const moving = new Set(counterexample.steps.flatMap((step) => Object.keys(step.changes)));

function element(tag, classes, ...inside) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...inside);
  return made;
}

function describe(index) {
  if (index === 0) return [element("h3", "", "Before the first step")];
  const step = counterexample.steps[index - 1];
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
  for (const line of step.observations ?? []) parts.push(element("p", line.startsWith("≠") ? "observed late" : "observed", line));
  if (index === last) parts.push(element("p", "end", `${counterexample.property} is violated here.`));
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
  let noted = true;
  for (const family of counterexample.families) {
    const variables = family.variables.filter((v) => everything || moving.has(v.name));
    if (!variables.length) continue;
    if (noted && !family.noted) parts.push(element("h4", "", "Messages handled and steps done"));
    noted = family.noted;
    const title = element("h3", "", family.name);
    if (family.in_property) title.append(" ", element("em", "", "read by the property"));
    parts.push(element("section", "", title, element("ul", "", ...variables.map((v) => chip(v, index)))));
  }
  return parts;
}

let current = -1;
const diagram = new Diagram(document.querySelector(".diagram"), (index) => show(index, false));

function show(index, scroll = true) {
  index = Math.max(0, Math.min(last, index));
  if (index === current) return;
  current = index;
  diagram.paint(index);
  byId("place").textContent = index ? `step ${index} of ${last}` : `before step 1 of ${last}`;
  byId("slider").value = index;
  byId("when").textContent = index ? `after step ${index}` : "at first";
  byId("step").replaceChildren(...describe(index));
  byId("state").replaceChildren(...families(index, byId("all").checked));
  history.replaceState(null, "", `#step=${index}`);
  if (scroll) reveal();
}

// On a phone the buttons are at the bottom of the window and cover a part of the page.
function reveal() {
  const buttons = document.querySelector("nav");
  const covers = getComputedStyle(buttons).position === "fixed";
  diagram.reveal(current, covers ? buttons.getBoundingClientRect().top : window.innerHeight);
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
byId("slider").addEventListener("input", (event) => show(Number(event.target.value)));
byId("all").addEventListener("change", () => byId("state").replaceChildren(...families(current, byId("all").checked)));

function asked() {
  const found = /^#step=(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}
window.addEventListener("hashchange", () => { if (asked() !== null) show(asked()); });
for (const link of document.querySelectorAll(".sentence a")) {
  link.addEventListener("click", () => document.querySelector("main").scrollIntoView({ block: "nearest" }));
}
window.addEventListener("resize", reveal);
show(asked() ?? last); // the page opens where the property is violated
