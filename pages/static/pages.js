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

// The first page's button leads to a page that then runs, with its first cell in sight.
addEventListener("load", () => {
  if (!new URLSearchParams(location.search).has("run")) return;
  document.querySelector(".run-start")?.click();
  document.querySelector("div.cell")?.scrollIntoView({ block: "center" });
});
