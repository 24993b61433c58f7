// The diagram of a counterexample in a page. One step is marked and in view; `onstep` receives the row that is clicked.
class Diagram {
  constructor(box, onstep) {
    this.box = box;
    this.above = box.querySelector(".above");
    this.above.hidden = false;
    this.above.addEventListener("click", () => {
      box.scrollTop = 0;
      this.tellAbove();
    });
    box.addEventListener("scroll", () => this.tellAbove());
    for (const band of box.querySelectorAll(".band")) {
      band.addEventListener("click", () => onstep(Number(band.dataset.step)));
    }
  }

  // Mark a step. Later steps are faint, and messages sent but not received yet are under way.
  paint(step) {
    this.box.classList.toggle("stepping", step > 0); // before the first step everything is visible
    for (const part of this.box.querySelectorAll("[data-step]")) {
      const index = Number(part.dataset.step);
      part.classList.toggle("current", index === step);
      part.classList.toggle("future", index > step);
    }
    for (const part of this.box.querySelectorAll("[data-sent]")) {
      const sent = Number(part.dataset.sent);
      const received = part.dataset.received ? Number(part.dataset.received) : Infinity;
      part.classList.toggle("future", sent > step);
      part.classList.toggle("air", sent <= step && step < received && received !== Infinity);
      part.classList.toggle("arriving", received === step);
    }
  }

  // The part that is shown: of the wide drawing, or of the narrow one.
  shown(selector) {
    return [...this.box.querySelectorAll(selector)].find((part) => part.getClientRects().length > 0);
  }

  // Say which steps lie above the rows in view.
  tellAbove() {
    const first = this.shown('.band[data-step="1"]');
    if (!first) return;
    const row = first.getBoundingClientRect();
    const hidden = this.box.querySelector(".top").getBoundingClientRect().bottom - row.top;
    const steps = Math.min(Math.ceil(hidden / row.height - 0.2), Number(this.box.querySelector(".row.end").dataset.step) - 1);
    this.above.textContent = steps < 1 ? "" : steps === 1 ? "↑ step 1 is above" : `↑ steps 1 to ${steps} are above`;
  }

  // Scroll only the diagram, until the row of a step and its neighbours are in view above `floor`.
  reveal(step, floor = window.innerHeight) {
    const band = this.shown(`.band[data-step="${step}"]`);
    if (!band) return;
    const row = band.getBoundingClientRect(), box = this.box.getBoundingClientRect();
    const above = box.top + this.box.querySelector(".top").getBoundingClientRect().height + row.height;
    const below = Math.min(box.top + this.box.clientHeight, Math.max(floor, above)) - 1.5 * row.height;
    if (row.top < above) this.box.scrollTop -= above - row.top;
    else if (row.bottom > below) this.box.scrollTop += row.bottom - below;
    this.tellAbove();
  }
}
