// The filters of the results, which the address keeps. Without this script everything is shown.
addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.filters"), shown = form.querySelector("output");
  const rows = [...document.querySelectorAll("table.chart tbody tr")], fields = [...form.querySelectorAll("select")];
  const address = new URL(location);
  function choose() {
    const wanted = fields.filter(one => one.value);
    for (const row of rows) row.hidden = wanted.some(one => row.dataset[one.name] !== one.value);
    for (const part of document.querySelectorAll("section section")) {
      part.hidden = !part.querySelector("tbody tr:not([hidden])");
    }
    const left = rows.filter(row => !row.hidden).length, { words, none } = shown.dataset;
    shown.textContent = left ? words.replace("{}", left).replace("{}", rows.length) : none;
  }
  for (const one of fields) {
    one.value = address.searchParams.get(one.name) ?? "";
    one.selectedIndex = Math.max(one.selectedIndex, 0);  // an address may ask for what is not there
  }
  form.addEventListener("input", () => {
    for (const { name, value } of fields) value ? address.searchParams.set(name, value) : address.searchParams.delete(name);
    history.replaceState(null, "", address);
    choose();
  });
  form.hidden = false;
  choose();
});
