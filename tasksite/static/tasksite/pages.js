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
    document.dispatchEvent(new CustomEvent("tick", { detail: now })); // for whatever else goes by this clock
  };

  document.addEventListener("DOMContentLoaded", () => {
    setClock();
    growAges();
    setInterval(growAges, 1000);
    dialog()?.addEventListener("close", () => document.getElementById("dialog-content").replaceChildren());
  });
  document.addEventListener("htmx:afterSettle", () => { setClock(); growAges(); });

  // The server says when something has changed, and only then the page asks. Where it cannot say so, the page polls.
  // A hidden page listens to nothing, because a browser opens few connections to one host, and asks for nothing.
  const WATCH = "/watch/";
  const AGAIN_MS = 30000;
  let stream = null;
  let told = ""; // the revision that it spoke of last: who was told the same is answered the same
  let heard = true; // whether the last answer came
  const pushed = () => heard && stream?.readyState === EventSource.OPEN;
  const tell = (name) => document.body.dispatchEvent(new Event(name));
  const listen = () => {
    if (document.hidden || stream || !document.getElementById(POLL)) return;
    stream = new EventSource(WATCH);
    stream.addEventListener("revision", (event) => {
      told = event.data;
      if (document.getElementById(POLL)?.dataset.revision !== told) tell("changed");
    });
    stream.addEventListener("error", () => {
      if (stream?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      stream = null;
      setTimeout(listen, AGAIN_MS);
    });
  };
  const hangUp = () => { stream?.close(); stream = null; };
  document.addEventListener("DOMContentLoaded", listen);
  window.addEventListener("pagehide", hangUp);
  window.addEventListener("pageshow", listen);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return hangUp();
    listen();
    tell("seen");
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const isPoll = !event.detail.requestConfig.triggeringEvent;
    if (event.target.id === POLL && (document.hidden || (isPoll && pushed()))) event.preventDefault();
  });

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id === POLL && event.detail.triggeringEvent?.type === "changed") event.detail.headers.Told = told;
  });

  const answered = (isSo) => { heard = isSo; offline(!isSo); };
  document.addEventListener("htmx:sendError", () => answered(false));
  document.addEventListener("htmx:responseError", () => answered(false));
  document.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful) answered(true); });

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
