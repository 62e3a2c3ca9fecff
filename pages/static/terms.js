// What a term means, at its link: on hover, on focus, or at a tap. The glossary's page says it, which is
// fetched for the first term; without this script, or from a file, a term is a link.
(() => {
  const made = { id: "term", role: "tooltip", popover: "manual" };
  const box = Object.assign(document.createElement("div"), made);
  let glossary, link, timer, touch;
  const later = (action, ms) => { clearTimeout(timer); timer = setTimeout(action, ms); };

  async function definition({ href, hash }) {
    glossary ??= fetch(href).then(reply => reply.text());
    const page = new DOMParser().parseFromString(await glossary, "text/html");
    const text = page.getElementById(decodeURIComponent(hash.slice(1))).closest("section").querySelector("p");
    text.lastElementChild.remove();  // the notebook that defines it
    return text;
  }

  function hide() {
    clearTimeout(timer);
    link?.removeAttribute("aria-describedby");
    link = undefined;
    box.hidePopover();
  }

  async function show(term) {
    if (term === link) return clearTimeout(timer);
    if (link) hide();
    link = term;
    const text = await definition(term).catch(() => {});
    if (!text || link !== term) return;
    box.replaceChildren(...text.childNodes);
    term.setAttribute("aria-describedby", box.id);
    box.showPopover();
    const { left, top, bottom } = term.getClientRects()[0], { offsetWidth, offsetHeight } = box;
    const room = bottom + offsetHeight + 8 < innerHeight || top < offsetHeight + 8;
    box.style.left = `${scrollX + Math.max(8, Math.min(left, document.documentElement.clientWidth - offsetWidth - 8))}px`;
    box.style.top = `${scrollY + (room ? bottom + 4 : top - offsetHeight - 4)}px`;
  }

  addEventListener("DOMContentLoaded", () => {
    if (!box.showPopover || !document.querySelector("a.term")) return;
    document.querySelector("main").append(box);
    const on = (type, react) => document.addEventListener(type, event => react(event.target.closest?.("a.term"), event));
    on("pointerover", (term, { pointerType, target }) => {
      if (pointerType === "touch") return;
      if (term) later(() => show(term), 200);  // not for a pointer that only passes
      else if (box.contains(target)) clearTimeout(timer);
      else if (link && link !== document.activeElement) later(hide, 200);
      else if (!link) clearTimeout(timer);
    });
    on("focusin", term => term?.matches(":focus-visible") ? show(term) : link && hide());
    on("focusout", term => term && hide());
    on("pointerdown", (term, event) => { touch = event.pointerType === "touch"; });
    on("click", (term, event) => {  // the first tap shows it, and the second follows the link
      if (!touch) return;
      if (term && term !== link) event.preventDefault(), show(term);
      else if (link) hide();
    });
    on("keydown", (term, { key }) => key === "Escape" && link && hide());
  });
})();
