// A new token can be copied, and leaves the page with its reader: going back in the browser does not show it again.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const secret = document.getElementById("secret");
  if (!secret) return;
  window.addEventListener("pagehide", () => { secret.textContent = "(shown once)"; });
  const copy = document.getElementById("copy");
  copy.hidden = !navigator.clipboard; // a browser gives it to pages by HTTPS and on the same machine only
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(secret.textContent);
    copy.textContent = "Copied";
  });
});
