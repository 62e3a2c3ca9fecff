// Start the deck, and make the text of each slide that is too full as small as it must be.
const HEIGHT = 724; // the rest of 768 is for arrows and the number of the slide

Reveal.initialize({
  width: 1024,
  height: 768,
  margin: 0,
  center: false,
  hash: true,
  transition: "none",
  slideNumber: "c",
  plugins: [RevealNotes],
}).then(() => {
  for (const slide of document.querySelectorAll(".slides section:not(.stack)")) fit(slide);
});

function fit(slide) {
  const hidden = [slide, slide.parentElement].filter((one) => one.tagName === "SECTION");
  for (const one of hidden) one.style.setProperty("display", "block", "important");
  for (let size = 1; size > 0.5; size -= 0.04) {
    slide.style.zoom = size;
    slide.style.setProperty("--picture-height", `${560 * size}px`);
    if (slide.scrollHeight * size <= HEIGHT) break;
  }
  for (const one of hidden) one.style.removeProperty("display");
}
