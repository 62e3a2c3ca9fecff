// Predict, then reveal: results wait behind their questions until the reader asks for them.
// Guesses stay in this browser: notebook -> cell -> {guess, shown}.
(() => {
  const GUESSES = "d2lhybrid-guesses", RESULTS = "d2lhybrid-results", root = document.documentElement;
  const get = (key, other) => {
    try { return JSON.parse(localStorage.getItem(key)) ?? other; } catch { return other; }
  };
  const put = (key, value) => {
    try { localStorage.setItem(key, JSON.stringify(value)); } catch {}  // a browser may forbid it
  };
  const shows = () => get(RESULTS, "guess");
  root.dataset.results = shows();  // before anything is drawn

  function folds(words, notebook) {
    const found = [];
    for (const one of document.querySelectorAll(".ask, .tag_guess, .result, .tag_result > .cell_output")) {
      const fold = found.at(-1);
      if (one.matches(".ask")) found.push({ ask: one, id: one.id.slice("predict-".length), parts: [] });
      else if (one.matches(".tag_guess")) fold.hint ??= hint(one.textContent);
      else fold.parts.push(one.matches(".result") ? one : wrapped(one));
    }
    return found.filter(fold => fold.parts.length).map(fold => folded(fold, words, notebook));
  }

  const hint = code => code.match(/choices="([^"]+)"/)?.[1].replaceAll(" ", " / ") ?? (code.includes("(..., ...)") ? "… – …" : "");

  function wrapped(output) {  // run.js hides and shows the output itself
    const made = Object.assign(document.createElement("div"), { className: "result" });
    output.before(made);
    made.append(output);
    return made;
  }

  function folded({ ask, id, parts, hint }, words, notebook) {
    const form = Object.assign(document.createElement("form"), { className: "guess", autocomplete: "off" });
    form.innerHTML = '<label><span></span> <input maxlength="200"></label> <button></button> <label><input type="checkbox"> <span></span></label>';
    const [label, field, button, tick, said] = form.querySelectorAll("span, input, button");
    label.textContent = words.guess;
    said.textContent = words.right;
    field.placeholder = hint ?? "";
    parts[0].before(form);
    let { guess = "", shown = false, right = false } = get(GUESSES, {})[notebook]?.[id] ?? {};
    [field.value, tick.checked] = [guess, right];
    const keep = () => {
      const all = get(GUESSES, {});
      (all[notebook] ??= {})[id] = { guess: field.value.trim(), shown, right: tick.checked };
      put(GUESSES, all);
    };
    const show = () => {
      field.readOnly = shown && field.value;  // what was guessed stands beside what came
      tick.parentElement.hidden = !field.readOnly;  // only the reader can judge "a bit faster"
      button.textContent = shown ? words.hide : words.show;
      button.ariaExpanded = shown;
      for (const part of parts) part.hidden = shown || shows() === "all" ? false : "until-found";
    };
    const turn = to => { shown = to; keep(); show(); };
    field.oninput = tick.onchange = keep;
    form.onsubmit = event => { event.preventDefault(); turn(!shown); };
    parts.forEach(part => part.addEventListener("beforematch", () => turn(true)));  // Ctrl-F
    show();
    const holds = one => one === ask || parts.some(part => part.contains(one));
    return { show, open: () => shown || turn(true), holds, follows: cell => parts.some(part => cell.contains(part)) };
  }

  addEventListener("DOMContentLoaded", () => {
    record();
    const bar = document.querySelector(".guess-switch");
    if (!bar) return;
    const all = folds(JSON.parse(bar.dataset.words), DOCUMENTATION_OPTIONS.pagename.split("/")[1]);
    root.dataset.folded = true;
    bar.elements.results.value = shows();
    bar.onchange = () => {
      put(RESULTS, root.dataset.results = bar.elements.results.value);
      all.forEach(one => one.show());
    };
    const follow = () => {  // a link into a result opens it
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const fold = target && all.find(one => one.holds(target));
      if (fold) fold.open(), target.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    addEventListener("ran", ({ target }) => all.find(one => one.follows(target))?.open());  // from run.js
    follow();
  });

  function record() {  // the page of all guesses
    const over = document.querySelector(".guess-over button");
    if (!over) return;
    const { none, count, sure } = over.dataset, guesses = get(GUESSES, {});
    let made = 0;
    for (const part of document.querySelectorAll(".guessed")) {
      const rows = [...part.querySelectorAll("li")], of = part.querySelector("h2");
      let hits = 0;
      const own = rows.filter(row => {
        const [, notebook, id] = row.querySelector(".to-result").href.match(/(\w+)\.html#predict-(.+)/);
        const { guess, right } = guesses[notebook]?.[id] ?? {};
        if (guess) row.querySelector("a.to-result").before(Object.assign(document.createElement("mark"), { textContent: `${guess}${right ? " ✓" : ""}` }), " ");
        hits += Boolean(guess && right);
        row.hidden = !guess;
        return guess;
      });
      made += own.length;
      part.hidden = !own.length;
      of.after(Object.assign(document.createElement("p"), { textContent: [hits, own.length, rows.length].reduce((text, one) => text.replace("{}", one), count) }));
    }
    if (made) over.hidden = false;
    else {
      over.before(none);
      document.querySelectorAll(".guessed, .guessed li").forEach(one => (one.hidden = false));
    }
    over.onclick = () => {
      if (!confirm(sure)) return;
      put(GUESSES, {});
      location.reload();
    };
  }
})();
