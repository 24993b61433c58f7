// The diagram of a counterexample in a page. One step is marked and in view; `onstep` receives the row that is clicked.
class Diagram {
  constructor(box, onstep) {
    this.box = box;
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

  // Scroll only the diagram, until the row of a step and its neighbours are in view above `floor`.
  reveal(step, floor = window.innerHeight) {
    const seen = (part) => part.getClientRects().length > 0;
    const band = [...this.box.querySelectorAll(`.band[data-step="${step}"]`)].find(seen);
    const heads = [...this.box.querySelectorAll(".heads")].find(seen);
    if (!band || !heads) return;
    const row = band.getBoundingClientRect(), box = this.box.getBoundingClientRect();
    const above = box.top + heads.getBoundingClientRect().height + row.height;
    const below = Math.min(box.top + this.box.clientHeight, Math.max(floor, above)) - 1.5 * row.height;
    if (row.top < above) this.box.scrollTop -= above - row.top;
    else if (row.bottom > below) this.box.scrollTop += row.bottom - below;
  }
}
