// What the pages do in the browser beyond htmx: ages that grow, the dialog, and no polls where nobody looks.
"use strict";
{
  const POLL = "live";
  const dialog = () => document.getElementById("dialog");
  const offline = (isSo) => { document.getElementById("offline").hidden = !isSo; };

  // Ages go by the server's clock: `data-now` is its reading when the part was made, in microseconds.
  let serverNow = Date.now();
  let readAt = performance.now();
  const setClock = () => {
    const live = document.getElementById(POLL);
    if (live) {
      serverNow = Number(live.dataset.now) / 1000;
      readAt = performance.now();
    }
  };
  const span = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min`;
    const [big, small, bigWord, smallWord] = whole < 86400 ? [3600, 60, "h", "min"] : [86400, 3600, "d", "h"];
    const rest = Math.floor((whole % big) / small);
    return `${Math.floor(whole / big)} ${bigWord}` + (rest ? ` ${rest} ${smallWord}` : "");
  };
  const growAges = () => {
    if (!document.getElementById(POLL)) return;
    const now = serverNow + performance.now() - readAt;
    for (const time of document.querySelectorAll("time.age")) {
      const shown = span((now - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== shown) time.textContent = shown;
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    setClock();
    growAges();
    setInterval(growAges, 1000);
    dialog()?.addEventListener("close", () => document.getElementById("dialog-content").replaceChildren());
  });
  document.addEventListener("htmx:afterSettle", () => { setClock(); growAges(); });

  // A hidden page asks for nothing, and at once when it is looked at again.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.id === POLL) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.body.dispatchEvent(new Event("seen"));
  });

  document.addEventListener("htmx:sendError", () => offline(true));
  document.addEventListener("htmx:responseError", () => offline(true));
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) offline(false); });

  // The dialog opens when there is something in it, and closes when an act has emptied it.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "dialog-content") return;
    const filled = event.target.childElementCount > 0;
    if (filled && !dialog().open) dialog().showModal();
    if (!filled && dialog().open) dialog().close();
  });
  document.addEventListener("click", (event) => {
    const closing = event.target instanceof Element && event.target.closest("[data-close]");
    if (closing && dialog()?.open) {
      event.preventDefault();
      dialog().close();
    }
  });
}
