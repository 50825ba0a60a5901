// What a reader has unfolded stays so when the part is swapped for a newer one.
"use strict";
{
  let open = [];
  const unfolded = () => [...document.querySelectorAll("#live details[open]")].map((each) => each.id);
  document.addEventListener("htmx:beforeSwap", () => { open = unfolded(); });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of open) {
      const again = document.getElementById(id);
      if (again) again.open = true;
    }
  });
}
