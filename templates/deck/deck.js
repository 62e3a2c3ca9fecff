// Start the deck, with slides that can be read from the last row. A slide that would need small
// letters is continued on a slide of its own below it. A slide without a heading repeats its
// section's.
const WIDTH = 1024;
const HEIGHT = 768;
const FOOT = 44; // for the arrows and the number of the slide
const SMALLEST = 0.84; // of the usual size of letters, unless one cell alone needs less

addEventListener("load", () => {
  if (!window.Reveal) {
    document.body.prepend("This deck needs a network, or reveal.js beside it: see README.");
    return;
  }
  document.querySelector(".slides").style.width = `${WIDTH}px`;
  for (const slide of document.querySelectorAll(".slides > section > section")) fit(slide);
  Reveal.initialize({
    width: WIDTH,
    height: HEIGHT,
    margin: 0,
    center: false,
    hash: true,
    transition: "none",
    slideNumber: "c",
    plugins: [RevealNotes],
  });
});

function fit(slide) {
  const heading = slide.parentElement.querySelector("h1, h2");
  if (heading && !slide.querySelector("h1, h2, h3")) {
    const again = heading.cloneNode(true);
    again.removeAttribute("id");
    again.classList.add("again");
    slide.firstElementChild.prepend(again); // in its first cell, which keeps it
  }
  const shown = [slide, slide.parentElement];
  for (const one of shown) one.style.setProperty("display", "block", "important");
  const rest = document.createElement("section");
  while (!fits(slide, SMALLEST)) {
    const last = slide.children.length > 1 ? slide.lastElementChild : results(slide);
    if (!last) break;
    rest.prepend(last);
  }
  let size = 1;
  while (size > 0.5 && !fits(slide, size)) size -= 0.04;
  for (const one of shown) one.style.removeProperty("display");
  if (rest.firstElementChild) {
    rest.firstElementChild.classList.remove("fragment"); // the slide itself is the next step
    slide.after(rest);
    fit(rest);
  }
}

// Of a slide with a single cell that has code and results: the results, as a cell of their own.
function results(slide) {
  const shown = slide.querySelector(".jp-Cell-inputWrapper ~ .jp-Cell-outputWrapper");
  if (!shown) return null;
  const cell = shown.parentElement.cloneNode();
  cell.append(shown);
  return cell;
}

function fits(slide, size) {
  slide.style.zoom = size;
  slide.style.setProperty("--picture-height", `${560 * size}px`);
  return slide.scrollHeight * size <= HEIGHT - FOOT;
}
