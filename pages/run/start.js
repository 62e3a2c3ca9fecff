// Before Python is loaded: a button at each cell, the ticks of the last visit. A script, no module: it runs
// on a page opened from a file, too, where it says why nothing can be loaded.
import { draw } from "./exercises.js";
import { all, bar } from "./kept.js";

const words = JSON.parse(bar.dataset.words), start = bar.querySelector(".run-start");
const tell = text => (bar.querySelector("output").textContent = text);

async function begin(box) {
  if (location.protocol === "file:") return tell(words.file);
  if (start.disabled) return;
  start.disabled = true;
  bar.classList.add("run-stays");
  try {
    await (await import(new URL(`${bar.dataset.folder}run.js`, location))).begin(box);
    draw();
  } catch (error) {
    start.disabled = false;
    bar.querySelector(".run-load").hidden = true;
    tell(words.failed.replace("{}", error.message));
  }
}

start.onclick = () => begin();
document.querySelectorAll("div.cell:has(> .cell_input)").forEach((box, i) => {
  if (location.protocol === "file:" || box.matches("[class*=tag_needs-]")) return;
  const name = words.cell.replace("{}", i + 1), button = document.createElement("button");
  Object.assign(button, { type: "button", className: "run-cell", textContent: `\u25b6\ufe0e\n${i + 1}`, title: `${name} (Shift-Enter)` });
  button.setAttribute("aria-label", name);
  button.onclick = () => begin(box);
  box.classList.add("run-live");
  box.querySelector(".cell_input").prepend(button);
});
draw();
if (Object.values(all()).some(one => "text" in one)) tell(words.mine);
