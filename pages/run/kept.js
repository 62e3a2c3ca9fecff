// What a visitor has changed and solved on a page, in this browser alone: id of a cell -> {base, text, right}.
// `base` is the page's own text of the cell: in a new version with another one, the rest no longer fits.
export const bar = document.querySelector(".run-bar");
const key = `d2lhybrid-run/${bar.dataset.page}`;

export const id = box => [...box.classList].find(one => one.startsWith("tag_id-")).slice(7);

let here = {};  // where the browser keeps nothing: until the page is left

export function all() {
  try { return JSON.parse(localStorage.getItem(key)) ?? here; } catch { return here; }
}

function put(kept) {
  here = kept;
  try { return localStorage.setItem(key, JSON.stringify(kept)), true; } catch { return false; }
}

export function keep(box, base, changes) {  // returns whether the browser allows it
  const kept = { ...all() }, old = kept[id(box)];
  kept[id(box)] = { ...(old?.base === base ? old : { base }), ...changes };
  if (kept[id(box)].text === base) delete kept[id(box)].text;
  return put(kept);
}

export function drop(box) {  // a cell's, or all
  const { [box && id(box)]: _, ...kept } = box ? all() : {};
  put(kept);
}
