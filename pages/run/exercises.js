// The exercises of a page: a tick for each one that is right, their count, a hint after a wrong answer.
import { all, bar, id, keep } from "./kept.js";
// From an exercise's check to a cell of the section that it practices; 00 asks for what was known before.
import PRACTICED from "./practiced.json";

export const code = box => box.querySelector(".cell_input pre").textContent.trimEnd();
const words = JSON.parse(bar.dataset.words), practiced = PRACTICED[bar.dataset.page.split("/")[1]] ?? {};
const cell = name => document.querySelector(`.${CSS.escape(`tag_id-${name}`)}`);
const exercises = Object.keys(practiced).map(cell).filter(box => box).map(check => (
  { check, base: code(check), section: check.closest("section"), heading: check.closest("section").querySelector("h3") }));

// Below this cell of an exercise stands the check of the answer in it.
export const checkOf = box => exercises.find(one => one.section.contains(box))?.check;

function label(parent, kind, text) {
  const made = parent.querySelector(`.${kind}`) ?? Object.assign(document.createElement("span"), { className: kind });
  made.textContent = text && ` ${text}`;
  parent.insertBefore(made, parent.querySelector(".headerlink"));  // if none, at the end
}

export function draw() {
  const kept = all();
  const solved = exercises.filter(({ check, base, heading }) => {
    const one = kept[id(check)], right = one?.right && one.base === base;
    label(heading, "run-tick", right ? `\u2713\ufe0e ${words.right}` : "");
    return right;
  }).length;
  if (!exercises.length || !solved && !bar.matches(".run-begun")) return;
  const part = exercises[0].section.parentElement, count = words.count.replace("{}", solved).replace("{}", exercises.length);
  label(part.querySelector("h2"), "run-count", count);
  for (const link of document.querySelectorAll(".page-toc a"))
    if (decodeURIComponent(link.hash.slice(1)) === part.id) label(link, "run-count", count);
}

// A check has run and has put out these elements.
export function judge(box, out) {
  const exercise = exercises.find(one => one.check === box);
  const verdict = exercise && out.textContent.match(/^(right|not right)/m)?.[1];
  if (!verdict) return;
  const right = verdict === "right";
  out.querySelector(".run-stream").dataset.verdict = verdict;
  keep(box, exercise.base, { right });
  draw();
  if (right || !practiced[id(box)]) return;
  const section = cell(practiced[id(box)]).closest("section"), title = section.querySelector("h2").cloneNode(true);
  title.querySelectorAll(".headerlink").forEach(one => one.remove());
  const link = Object.assign(document.createElement("a"), { href: `#${section.id}`, textContent: title.textContent });
  const hint = Object.assign(document.createElement("p"), { className: "run-note", lang: document.documentElement.lang });
  const [before, after] = words.hint.split("{}");
  hint.append(before, link, after);
  out.append(hint);
}
