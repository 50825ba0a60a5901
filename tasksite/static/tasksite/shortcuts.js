// The keyboard: search, going from page to page, walking through lists. Nothing fires while somebody types in a
// field, while a dialog is open, or together with a key that belongs to the browser.
"use strict";
{
  const WAITS_MS = 1500; // how long `g` waits for the key that says where
  const search = () => document.getElementById("search");
  const found = () => document.getElementById("found");
  // The sheet stands in the dialog that all else opens in, too: pages.js empties it when it closes.
  const showKeys = () => {
    const sheet = document.getElementById("keys");
    if (!sheet) return;
    document.getElementById("dialog-content").replaceChildren(sheet.content.cloneNode(true));
    document.getElementById("dialog").showModal();
  };
  const typing = (target) =>
    target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;

  // Lists: j and k move between rows by the first link or button of each. The marked row is the one with the focus.
  const stops = () =>
    [...document.querySelectorAll("main .rows > li")]
      .map((row) => row.querySelector("a[href]:not([tabindex='-1']), button"))
      .filter((stop) => stop?.checkVisibility());
  let last = null; // where the focus was, for a list that has been swapped under it
  const move = (step) => {
    const all = stops();
    const row = document.activeElement?.closest(".rows > li");
    let at = all.findIndex((stop) => row?.contains(stop));
    if (at < 0 && last) at = all.findIndex((stop) => stop.getAttribute("href") === last);
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    if (!next) return;
    last = next.getAttribute("href");
    next.focus();
    next.closest("li").scrollIntoView({ block: "nearest" });
  };

  let going = 0; // until when `g` waits
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (performance.now() < going) {
      going = 0;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        link.click();
        return;
      }
    }
    const acts = {
      "/": () => { search()?.focus(); search()?.select(); },
      "?": showKeys,
      g: () => { going = performance.now() + WAITS_MS; },
      j: () => move(1),
      k: () => move(-1),
      Escape: () => document.activeElement?.blur(),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  };
  document.addEventListener("keydown", onKey);

  // What is found hangs below the field: arrows walk through it, Esc puts it away.
  const close = () => found()?.replaceChildren();
  document.addEventListener("keydown", (event) => {
    const box = search()?.closest("form");
    if (!box?.contains(event.target)) return;
    const links = [...found().querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : search()).focus();
    else if (event.key === "Escape") {
      if (links.length) search().focus();
      else {
        search().value = "";
        search().blur();
      }
      close();
    } else return;
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    if (search() && !search().closest("form").contains(event.target)) close();
  });
  document.addEventListener("click", (event) => {
    if (search() && !search().closest("form").contains(event.target)) close();
  });

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("show-keys");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", showKeys);
  });
}
