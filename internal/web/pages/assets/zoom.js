// Dragging over a ledger's figure asks for that part of the time, as the form below the figure does.
"use strict";
let start = null; // where the drag began
let shade = null;

// axis is where the time axis of a figure lies on the screen, with the times at its ends.
function axis(plot) {
  const line = plot.querySelector(".figure-axis");
  if (!line || !plot.dataset.from) return null;
  const box = line.getBoundingClientRect();
  return { left: box.left, width: box.width, from: Date.parse(plot.dataset.from), to: Date.parse(plot.dataset.to) };
}
function within(a, x) {
  return Math.min(Math.max(x, a.left), a.left + a.width);
}
function drop() {
  if (shade) shade.remove();
  start = shade = null;
}
document.addEventListener("pointerdown", (event) => {
  const plot = event.target.closest && event.target.closest(".plot[data-from]");
  if (!plot || event.button !== 0 || event.pointerType === "touch") return; // a finger moves the page
  const a = axis(plot);
  if (!a) return;
  event.preventDefault(); // text is not selected meanwhile
  start = { x: event.clientX, a: a, box: plot.getBoundingClientRect() };
  shade = document.createElement("div");
  shade.className = "chosen";
  document.body.append(shade);
});
document.addEventListener("pointermove", (event) => {
  if (!start) return;
  const x = [within(start.a, start.x), within(start.a, event.clientX)].sort((a, b) => a - b);
  shade.style.left = x[0] + window.scrollX + "px";
  shade.style.width = x[1] - x[0] + "px";
  shade.style.top = start.box.top + window.scrollY + "px";
  shade.style.height = start.box.height + "px";
});
document.addEventListener("pointerup", (event) => {
  if (!start) return;
  const a = start.a;
  const x = [within(a, start.x), within(a, event.clientX)].sort((a, b) => a - b);
  drop();
  if (x[1] - x[0] < 8) return; // a click
  const at = (x) => new Date(a.from + ((x - a.left) / a.width) * (a.to - a.from)).toISOString();
  const form = document.getElementById("part");
  form.elements.from.value = at(x[0]);
  form.elements.to.value = at(x[1]);
  form.requestSubmit();
});
document.addEventListener("pointercancel", drop);
document.addEventListener("keydown", (event) => event.key === "Escape" && drop());
