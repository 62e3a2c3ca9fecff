// "Run this page in your browser": its code cells become editors, and Python runs in a worker.
import { editor } from "./editor.js";

const bar = document.querySelector(".run-bar");
const words = JSON.parse(bar.dataset.words);
const say = (text, ...values) => {
  for (const value of values) text = text.replace("{}", value);
  return text;
};
const tell = text => (bar.querySelector("output").textContent = text);
// What a worker needs is fetched once and kept: a new one, after Stop, must not need the network.
const FILES = ["worker.js", "pyodide.asm.wasm", "python_stdlib.zip", "packages.zip"];
const files = {};  // name -> Blob
const cells = [];  // all of the page; those that need what is not there have no editor, and are quiet
let worker, ready, current, queue;

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

function next() {
  current = queue.shift();
  if (!current) return tell(words.ready);
  mark(current, "busy");
  if (!current.quiet) {
    current.out.replaceChildren();
    current.stored?.setAttribute("hidden", "");
  }
  tell(ready ? say(words.running, current.number, cells.length) : words.loading);
  worker ??= begun();
  worker.postMessage({ files, text: current.quiet ?? current.editor.text(), number: current.number });
}

// A cell needs what those above it have defined: those that have not run yet, or were changed since,
// run first.
function run(cell) {
  for (const one of cells.slice(0, cell.number)) {
    const { state } = one.box.dataset;
    if (!state || (one === cell && /done|failed/.test(state))) {
      queue.push(one);
      mark(one, "waits");
    }
  }
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
  if (failed) queue.splice(0).forEach(one => one === failed ? mark(one, "") : forget(one));
  next();
  if (failed) tell(say(words.error, failed.number));
}

// As before it ran: a result that stays would seem to be that of the changed code.
function forget(cell) {
  mark(cell, "");
  cell.out?.replaceChildren();
  cell.stored?.removeAttribute("hidden");
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
  restart(words.over);
  for (const cell of cells) {
    forget(cell);
    cell.editor?.reset();
  }
}

function enliven(box) {
  const input = box.querySelector(".cell_input"), text = input.querySelector("pre").textContent.trimEnd();
  const cell = { box, number: cells.length + 1, stored: box.querySelector(".cell_output") };
  cells.push(cell);
  const need = [...box.classList].find(one => one.startsWith("tag_needs-"))?.slice(10);
  if (need) {  // it runs up to what is missing: it may import a name that a later cell uses
    cell.quiet = text;
    return box.append(make("p", "run-note", { textContent: say(words.lacks, words.needs[need]) }));
  }
  const button = make("button", "run-cell", { type: "button", textContent: `\u25b6\ufe0e\n${cell.number}` });
  button.title = `${say(words.cell, cell.number)} (Shift-Enter)`;
  button.setAttribute("aria-label", say(words.cell, cell.number));
  button.onclick = () => run(cell);
  const holder = make("div", "run-editor", { lang: "en" });
  cell.editor = editor(holder, text, say(words.code, cell.number), bar, {
    run: () => run(cell),
    runAndGoOn: () => {
      run(cell);
      cells.slice(cell.number).find(one => one.editor?.isVisible())?.editor.focus();
    },
    changed: () => !queue.includes(cell) && mark(cell, ""),
  });
  cell.out = make("div", "run-out", { lang: "en", role: "group" });
  cell.out.setAttribute("aria-label", say(words.results, cell.number));
  input.replaceChildren(button, holder);
  input.after(cell.out);
  box.classList.add("run-live");
}

async function fetched(name) {
  const reply = await fetch(new URL(name, import.meta.url));
  if (!reply.ok) throw new Error(`${name}: ${reply.status}`);
  files[name] = await reply.blob();
}

export async function begin() {
  tell(words.loading);
  await Promise.all(FILES.map(fetched));
  document.querySelectorAll("div.cell:has(> .cell_input)").forEach(enliven);
  restart(words.loading);
  const [all, stop, over] = bar.querySelectorAll(".run-tools button");
  all.onclick = () => {
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
  all.focus({ preventScroll: true });
  run(cells[0]);
}
