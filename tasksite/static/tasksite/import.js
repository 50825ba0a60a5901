// The import without typing: a file that is dropped or chosen is checked at once, and a small one can be mended in the
// box. All of it works as a plain form as well.
"use strict";
{
  const MENDED_HERE = 256 * 1024; // bytes; a larger file is mended where it came from
  const form = document.getElementById("import");
  const input = document.getElementById("file");
  const box = document.getElementById("text");
  const drop = document.getElementById("drop");
  const problem = document.getElementById("file-problem");

  const refuse = (sentence) => {
    problem.textContent = sentence;
    problem.hidden = !sentence;
  };
  const check = () => form.requestSubmit(document.getElementById("check"));

  const take = async () => {
    const file = input.files[0];
    refuse("");
    if (!file) return;
    if (file.size > Number(input.dataset.most)) {
      input.value = "";
      return refuse(`${file.name} is too large for a plan.`);
    }
    box.value = "";
    if (file.size <= MENDED_HERE) {
      try {
        box.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
        input.value = ""; // what stands in the box is what is sent
      } catch { /* no text: the server says where it is wrong */ }
    }
    check();
  };
  input.addEventListener("change", take);

  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault(); // a file that misses the place would be opened instead of the page
    drop.classList.remove("over");
    input.files = event.dataTransfer.files;
    take();
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "answer") document.getElementById("answer-title")?.focus();
  });
}
