// Each cell of the pages that run, without a browser: what it puts out is what is stored, and those
// that cannot are tagged. `python3 course.py site --check` runs this.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

const root = new URL("../../", import.meta.url);
const read = path => fs.readFileSync(new URL(path, root));
const { shell } = await import(new URL("build/site/html/run/worker.js", root));
const course = read("course.toml").toString();
const names = [...course.matchAll(/name = "(\w+)"(?:\n.+)*\nin_browser = true/g)].map(found => found[1]);

// What may differ, as tests/sanitize.cfg says, and the lines on what a browser lacks.
const MASKS = `
import re
text = open("/sanitize.cfg").read()
masks = re.findall(r"(?m)^regex: (.*)\\nreplace: (.*)$", text)
lacking = r"(?m)^(this machine: has no .*|(C|Numba|building|calls until)\\b.*)\\n?"
def masked(text):
    text = re.sub(lacking, "", text)
    for pattern, put in masks:
        text = re.sub(pattern, put, text)
    return text.strip()
masked`;

const practiced = JSON.parse(read("pages/run/practiced.json"));
const isTagged = cell => (cell.metadata.tags ?? []).some(tag => tag.startsWith("needs-"));

// Pictures by their text: their figures may be measured, and a stored one may be a PNG.
const text = output => [output.text ?? output.data["text/plain"]].flat().join("")
  + (output.text ? "" : "\n");

test("the pages that run are found", () => assert.equal(names.length, 5));

for (const name of names) test(name, async () => {
  globalThis.fetch = url => assert.fail(`asks for ${url}`);
  let outputs = [];
  const send = output => outputs.push(output);
  const python = await shell(send, new Uint8Array(read("build/site/html/run/packages.zip")));
  python.FS.writeFile("/sanitize.cfg", read("tests/sanitize.cfg"));
  const masked = python.runPython(MASKS), run = python.runPython("shell.run");
  const all = JSON.parse(read(`notebooks/${name}.ipynb`)).cells;
  const cells = all
    .filter(cell => cell.cell_type === "code" && !cell.source.join("").includes("google.colab"));
  assert.ok(cells.length > 10);
  const faults = [];
  for (const [i, cell] of cells.entries()) {
    outputs = [];
    const tagged = isTagged(cell);
    const ok = run([cell.source].flat().join(""), i + 1);
    const shown = ok ? masked(outputs.map(text).join("")) : outputs.at(-1).traceback.join("\n");
    const stored = masked(cell.outputs.map(text).join(""));
    if (cell.metadata.tags?.includes("needs-machine")) continue;  // the masks leave nothing to compare
    if (tagged ? shown === stored : shown !== stored) faults.push([cell.id, shown, stored]);
  }
  assert.deepEqual(faults, []);  // [cell, what it put out, what is stored]

  const solutions = all.indexOf(all.find(cell => cell.source[0].startsWith("## Solutions")));
  const checks = all.slice(0, solutions)
    .filter(cell => /^check\(/m.test(cell.source.join("")) && cell.cell_type === "code" && !isTagged(cell));
  assert.deepEqual(checks.map(cell => cell.id), Object.keys(practiced[name] ?? {}));
  for (const id of Object.values(practiced[name] ?? {})) assert.ok(!id || cells.some(cell => cell.id === id), id);
});
