// Figures with steps: a slider and two buttons, and in some a choice, say which step is shown.
// All steps are on the page, and without this script, or on paper, the last one is seen.
addEventListener("DOMContentLoaded", () => {
  for (const figure of document.querySelectorAll("figure.steps")) {
    const { at, group } = figure.querySelector("form").elements, said = figure.querySelector("output");
    const [back, next] = figure.querySelectorAll("button"), frames = [...figure.querySelectorAll(".frame")];
    const show = () => {
      const own = frames.filter(frame => frame.dataset.group === (group?.value ?? "0"));
      at.max = own.length - 1;
      const now = own[at.value];
      back.disabled = at.value === "0";
      next.disabled = at.value === at.max;
      for (const frame of frames) frame.classList.toggle("now", frame === now);
      return now.querySelector("p").textContent;
    };
    const tell = () => (said.textContent = show());
    const go = by => () => { at.value = +at.value + by; tell(); };
    figure.addEventListener("input", tell);
    back.onclick = go(-1);
    next.onclick = go(1);
    at.value = 0;
    show();
  }
});
