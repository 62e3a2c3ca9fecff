// On paper the colors are those of the light theme.
let theme;
addEventListener("beforeprint", () => {
  theme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
addEventListener("afterprint", () => (document.documentElement.dataset.theme = theme));

// The notebook is saved, where a browser would show its text.
addEventListener("DOMContentLoaded", () => {
  for (const link of document.querySelectorAll(".btn-download-source-button")) link.download = "";
});

// On a phone a drawer lies over the text: it closes when a link in it is followed to a place there.
addEventListener("click", ({ target }) => {
  if (target.closest?.("a[href*='#']")) target.closest("dialog[open]")?.close();
});

// The sidebar that a reader has hidden stays so on the next page (templates/layout.html).
addEventListener("click", ({ target }) => {
  if (!target.closest?.(".primary-toggle") || !matchMedia("(min-width: 992px)").matches) return; // a drawer
  const hidden = document.getElementById("pst-primary-sidebar").matches(".pst-sidebar-hidden"); // the theme turns it now
  try { localStorage.setItem("d2lhybrid-sidebar", hidden ? "" : "hidden"); } catch {}
}, true);

// The first page's button leads to a page that then runs, with its first cell in sight.
addEventListener("load", () => {
  if (!new URLSearchParams(location.search).has("run")) return;
  document.querySelector(".run-start")?.click();
  document.querySelector("div.cell")?.scrollIntoView({ block: "center" });
});

// The contents mark the section at the top of the window; when scrolling up, the theme marks another one.
addEventListener("DOMContentLoaded", () => {
  const links = [...document.querySelectorAll("#pst-page-toc-nav a")], entries = document.querySelectorAll("#pst-page-toc-nav .toc-entry");
  const heads = links.map(link => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  let timer;
  const mark = () => {
    timer = undefined;
    const end = scrollY + innerHeight > document.documentElement.scrollHeight - 2;
    const here = end ? links.at(-1) : links[heads.findLastIndex(head => head?.getBoundingClientRect().top < 150)];
    for (const link of links) {
      link.classList.toggle("active", link === here);
      if (link === here) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const one of entries) one.classList.toggle("active", one.contains(here ?? null));
  };
  if (links.length) addEventListener("scroll", () => { timer ??= setTimeout(mark, 80); });  // after the theme
});
