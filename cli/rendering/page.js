const cells = (table) => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")]);

// A link to a row opens what is known of it; Esc closes it (the browser does that), and so does a click beside it.
function open(id) {
  const found = document.getElementById(id);
  if (!(found instanceof HTMLDialogElement) || found.open) return;
  for (const other of document.querySelectorAll("dialog[open]")) other.close();
  found.showModal();
  found.scrollTop = 0;
  for (const box of found.querySelectorAll(".diagram:not(.ready)")) {
    box.classList.add("ready");
    const diagram = new Diagram(box, (step) => diagram.paint(step)); // a click on a row marks it; on the first, none
  }
  history.replaceState(null, "", `#${id}`);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link) {
    event.preventDefault();
    open(link.getAttribute("href").slice(1));
  } else if (event.target instanceof HTMLDialogElement) event.target.close();
});
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
}

// Arrow keys go from cell to cell of a matrix; Tab goes through all of them, as ever.
const ways = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
document.addEventListener("keydown", (event) => {
  const way = ways[event.key], here = document.activeElement.closest("table.matrix td");
  if (!way || !here || event.ctrlKey || event.metaKey || event.altKey) return;
  const grid = cells(here.closest("table"));
  let line = grid.findIndex((row) => row.includes(here)), column = grid[line].indexOf(here);
  do [line, column] = [line + way[0], column + way[1]];
  while (grid[line]?.[column] && !grid[line][column].querySelector("a"));
  const link = grid[line]?.[column]?.querySelector("a");
  if (!link) return;
  event.preventDefault();
  link.focus();
});

window.addEventListener("hashchange", () => open(location.hash.slice(1)));
open(location.hash.slice(1));
