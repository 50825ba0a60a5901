// One box that ticks all of a list; without scripts it is not shown, and all boxes are ticked to begin with.
"use strict";
{
  const boxes = (list) => [...list.querySelectorAll('input[name="target"]')];
  const reflect = (list) => {
    const all = list.querySelector("[data-tick-all]");
    const ticked = boxes(list).filter((box) => box.checked).length;
    all.closest("label").hidden = false;
    all.checked = ticked === boxes(list).length;
    all.indeterminate = ticked > 0 && !all.checked;
  };
  const reflectAll = () => document.querySelectorAll(".choices").forEach(reflect);
  document.addEventListener("change", (event) => {
    const list = event.target.closest(".choices");
    if (!list) return;
    if (event.target.matches("[data-tick-all]")) for (const box of boxes(list)) box.checked = event.target.checked;
    reflect(list);
  });
  document.addEventListener("DOMContentLoaded", reflectAll);
  document.addEventListener("htmx:afterSwap", reflectAll);
}
