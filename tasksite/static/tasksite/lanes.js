// The time axis moves on by itself: all tracks slide to the left as time goes, and the bars of open claims grow.
// Geometry is set as attributes, which the policy allows. Without scripts the picture stands as of its rendering.
"use strict";
{
  const round = (value) => Math.round(value * 1000) / 1000;
  const move = (axis, nowMs) => {
    const since = nowMs * 1000 - Number(axis.dataset.now);
    const gone = round(Math.min(100, (100 * since) / Number(axis.dataset.micros)));
    if (!(gone >= 0)) return;
    for (const slide of axis.parentElement.querySelectorAll("svg.slide")) slide.setAttribute("x", `${-gone}%`);
    for (const bar of axis.parentElement.querySelectorAll("rect.growing")) {
      bar.dataset.width ??= String(parseFloat(bar.getAttribute("width")));
      bar.setAttribute("width", `${round(Number(bar.dataset.width) + gone)}%`);
    }
  };
  // pages.js says, by the server's clock, what time it is.
  document.addEventListener("tick", (event) => {
    for (const axis of document.querySelectorAll("[data-axis]")) move(axis, event.detail);
  });
}
