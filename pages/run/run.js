// "Run this page in your browser": its code cells become editors, and Python runs in a worker.
import { editor } from "./editor.js";
import { checkOf, code, draw, judge } from "./exercises.js";
import { all, bar, drop, id, keep } from "./kept.js";

const words = JSON.parse(bar.dataset.words);
const say = (text, ...values) => {
  for (const value of values) text = text.replace("{}", value);
  return text;
};
// A phone does not show that changes are kept, only that they are not.
const tell = (text, more = "") => {
  const note = make("span", more === words.keeps ? "run-kept" : "", { textContent: more });
  bar.querySelector("output").replaceChildren(text, note);
};
// What a worker needs is fetched once and kept: a new one, after Stop, must not need the network.
const FILES = ["worker.js", "pyodide.asm.wasm", "python_stdlib.zip", "packages.zip"];
const files = {};  // name -> Blob
const cells = [];  // all of the page; those that need what is not there have no editor, and are quiet
let worker, ready, current, queue, asked, keeps = true;  // `asked`: the cell that the reader runs

function make(tag, kind, more = {}) {
  const made = Object.assign(document.createElement(tag), more);
  made.className = kind;
  return made;
}

function show(cell, output) {
  const data = output.data ?? {};
  if (cell.quiet) return;
  if (output.output_type === "stream") {
    const last = cell.out.lastElementChild;
    if (last?.dataset.name === output.name) return last.append(output.text);
    const stream = make("pre", "run-stream", { textContent: output.text });
    stream.dataset.name = output.name;
    return cell.out.append(stream);
  }
  const html = data["text/html"] ?? data["image/svg+xml"];
  const text = output.traceback?.join("\n") ?? data["text/plain"];
  cell.out.append(output.traceback ? make("pre", "run-error", { textContent: text })
    : html ? make("div", "run-html", { innerHTML: html }) : make("pre", "run-value", { textContent: text }));
}

function mark(cell, state) {  // waits, busy, done or failed
  cell.box.dataset.state = state;
}

// What stands below a cell may be the result of other code: that which ran, or the page's own.
function compare(cell) {
  const shown = cell.out.childElementCount ? cell.ran : cell.stored?.hidden === false && cell.base;
  cell.old.hidden = !shown || shown === cell.editor.text();
}

function next() {
  current = queue.shift();
  if (!current) return tell(words.ready, keeps ? words.keeps : words.gone);
  mark(current, "busy");
  if (!current.quiet) {
    current.out.replaceChildren();
    current.stored?.setAttribute("hidden", "");
    current.ran = current.editor.text();
    compare(current);
  }
  tell(ready ? say(words.running, current.number, cells.length) : words.starting);
  worker ??= begun();
  worker.postMessage({ files, text: current.quiet ?? current.ran, number: current.number });
}

// A cell needs what those above it have defined: those that have not run yet, or were changed since,
// run first. With an exercise's answer its check runs, too.
function run(cell) {
  const check = cells.find(one => one.box === checkOf(cell.box)), last = check?.number > cell.number ? check : cell;
  for (const one of cells.slice(0, last.number)) {
    const { state } = one.box.dataset;
    if (!state || ((one === cell || one === last) && /done|failed/.test(state))) {
      queue.push(one);
      mark(one, "waits");
    }
  }
  asked = cell;
  if (!current) next();
}

function heard({ data }) {
  if (data.ready) {
    ready = true;
    return tell(say(words.running, current.number, cells.length));
  }
  if (data.output) return show(current, data.output);
  if (data.broken) return broken(data.broken);
  const failed = !data.ok && !current.quiet && current;
  if (current.box.dataset.state === "busy") mark(current, failed ? "failed" : "done");  // unchanged
  if (data.ok && current.out) judge(current.box, current.out);
  if (failed || current === asked) current.box.dispatchEvent(new Event("ran", { bubbles: true }));  // for reveal.js
  if (failed) queue.splice(0).forEach(one => one === failed ? mark(one, "") : forget(one));
  next();
  if (failed) tell(say(words.error, failed.number));
}

// As before it ran: a result that stays would seem to be that of the changed code.
function forget(cell) {
  mark(cell, "");
  cell.out?.replaceChildren();
  cell.stored?.removeAttribute("hidden");
  if (cell.editor) compare(cell);
}

function begun() {
  const made = new Worker(URL.createObjectURL(files["worker.js"]), { type: "module" });
  made.onmessage = heard;
  made.onerror = event => current && broken(event.message ?? "");
  return made;
}

// A worker that does not answer, as in an endless loop, can only be ended. All names are gone then.
function restart(text) {
  worker?.terminate();
  [worker, ready, current, queue] = [undefined, false, undefined, []];
  cells.forEach(cell => mark(cell, ""));
  tell(text);
}

function broken(why) {
  const cell = current, loaded = ready;
  restart(loaded ? say(words.broken, cell.number) : say(words.failed, why));
  if (!loaded) return forget(cell);
  mark(cell, "failed");
  show(cell, { traceback: [why] });
}

function startOver() {
  if (Object.keys(all()).length && !confirm(words.sure)) return;
  drop();
  draw();
  restart(words.over);
  for (const cell of cells) {
    cell.editor?.reset();
    forget(cell);
  }
}

function enliven(box) {
  const input = box.querySelector(".cell_input"), base = code(box);
  const cell = { box, base, number: cells.length + 1, stored: box.querySelector(".cell_output") };
  cells.push(cell);
  const need = [...box.classList].find(one => one.startsWith("tag_needs-"))?.slice(10);
  if (need) {  // it runs up to what is missing: it may import a name that a later cell uses
    cell.quiet = base;
    const note = make("p", "run-note", { textContent: `${say(words.lacks, words.needs[need])} ` });
    note.append(make("a", "", { href: bar.dataset.colab, textContent: words.there }));
    return box.append(note);
  }
  const button = input.querySelector(".run-cell");
  button.onclick = () => run(cell);
  const holder = make("div", "run-editor", { lang: "en" }), kept = all()[id(box)];
  const text = kept?.base === base && kept.text || base;
  cell.editor = editor(holder, { base, text, label: say(words.code, cell.number) }, bar, {
    run: () => run(cell),
    runAndGoOn: () => {
      run(cell);
      cells.slice(cell.number).find(one => one.editor?.isVisible())?.editor.focus();
    },
    changed: () => {
      keeps = keep(box, base, { text: cell.editor.text() });
      compare(cell);
      if (!queue.includes(cell)) mark(cell, "");
    },
  });
  cell.old = make("p", "run-note", { textContent: words.stale });
  cell.out = make("div", "run-out", { lang: "en", role: "group" });
  cell.out.setAttribute("aria-label", say(words.results, cell.number));
  input.replaceChildren(button, holder);
  input.after(cell.old, cell.out);
  compare(cell);
  if (kept && kept.base !== base) {  // a new version of the page
    if ("text" in kept) input.before(make("p", "run-note", { textContent: words.dropped }), make("pre", "", { textContent: kept.text }));
    drop(box);
  }
}

// The bytes are those that arrive, unpacked: their number is known when the page is made.
async function fetched(name, count) {
  const reply = await fetch(new URL(name, import.meta.url));
  if (!reply.ok) throw new Error(`${name}: ${reply.status}`);
  const transform = (chunk, out) => (count(chunk.length), out.enqueue(chunk));
  const counted = reply.body.pipeThrough(new TransformStream({ transform }));
  files[name] = await new Response(counted, { headers: reply.headers }).blob();
}

// `box` is the cell at which Python was started, if it was one.
export async function begin(box) {
  const load = bar.querySelector(".run-load"), [progress, percent] = load.children;
  let loaded = 0;
  load.hidden = false;
  tell(words.loading);
  await Promise.all(FILES.map(name => fetched(name, bytes => {
    progress.value = (loaded += bytes) / bar.dataset.bytes;
    percent.textContent = `${Math.floor(100 * progress.value)}%`;
  })));
  load.hidden = true;
  const place = box?.getBoundingClientRect().top;
  document.querySelectorAll("div.cell:has(> .cell_input)").forEach(enliven);
  restart(words.starting);
  const [every, stop, over] = bar.querySelectorAll(".run-tools button");
  every.onclick = () => {
    if (!current) cells.forEach(cell => mark(cell, ""));
    run(cells.at(-1));
  };
  stop.onclick = () => current && restart(words.stopped);
  stop.title = stop.ariaKeyShortcuts = "Escape";  // the button may be far from where a key is pressed
  document.addEventListener("keydown", ({ key, target }) => {
    if (key === "Escape" && target.closest(".run-live, .run-bar")) stop.click();
  });
  over.onclick = startOver;
  bar.classList.add("run-begun");
  const first = cells.find(cell => cell.box === box);
  (first ? box.querySelector(".run-cell") : every).focus({ preventScroll: true });
  if (first) scrollBy({ top: box.getBoundingClientRect().top - place, behavior: "instant" });
  run(first ?? cells[0]);
}
