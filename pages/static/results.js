// The filters of the results. Without this script everything is shown.
addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.filters"), shown = form.querySelector("output");
  const rows = [...document.querySelectorAll("table.chart tbody tr")];
  function choose() {
    const wanted = [...form.querySelectorAll("select")].filter(one => one.value);
    for (const row of rows) row.hidden = wanted.some(one => row.dataset[one.name] !== one.value);
    for (const part of document.querySelectorAll("section section")) {
      part.hidden = !part.querySelector("tbody tr:not([hidden])");
    }
    const left = rows.filter(row => !row.hidden).length;
    shown.textContent = shown.dataset.words.replace("{}", left).replace("{}", rows.length);
  }
  form.addEventListener("input", choose);
  form.hidden = false;
  choose();
});
