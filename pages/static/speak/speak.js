// The page on which the network speaks: network.js computes, with the numbers of weights.js.
const { symbols, context } = speaker;
const parameters = speaker.weights.map(one => Float32Array.from(Array.isArray(one) ? one : numbers(one)));

// A matrix of 8-bit integers, in base64: each row has its own scale.
function numbers({ rows, scales }) {
  const integers = Int8Array.from(atob(rows), one => one.charCodeAt(0));
  return Float32Array.from(integers, (one, at) => one * scales[Math.floor((at * scales.length) / integers.length)]);
}

// A 1 in the place of each of the last characters, and 0 everywhere else.
function oneHot(text) {
  const input = new Float32Array(context * symbols.length);
  const last = text.padStart(context).slice(-context);
  for (let i = 0; i < context; i++) input[i * symbols.length + symbols.indexOf(last[i])] = 1;
  return input;
}

// A symbol, drawn with the probabilities that belong to the scores.
function draw(scores, temperature) {
  const top = Math.max(...scores);
  const chances = Array.from(scores, score => Math.exp((score - top) / temperature));
  let rest = Math.random() * chances.reduce((a, b) => a + b);
  const drawn = chances.findIndex(chance => (rest -= chance) < 0);
  return symbols[drawn < 0 ? scores.indexOf(top) : drawn];
}

addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("form.speak");
  const { begin, temperature, chosen, text, rate } = form.elements;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let writing = 0; // the number of the text that is being written: a new one ends an older one

  temperature.addEventListener("input", () => (chosen.value = temperature.value));
  form.addEventListener("submit", event => {
    event.preventDefault();
    const mine = ++writing;
    const known = [...begin.value.toLowerCase()].map(one => (symbols.includes(one) ? one : " "));
    let said = known.join(""), spent = 0, left = 600;
    text.setAttribute("aria-busy", "true");
    (function write() {
      if (mine !== writing) return;
      const start = performance.now();
      const some = still ? left : Math.min(left, 8);
      for (let i = 0; i < some; i++) said += draw(network(oneHot(said), parameters), temperature.value);
      spent += performance.now() - start;
      left -= some;
      text.value = said;
      const speed = ((600 - left) / Math.max(spent, 1)) * 1000;
      rate.value = form.dataset.rate.replace("{}", Math.round(speed).toLocaleString(form.dataset.language));
      if (left) return requestAnimationFrame(write);
      text.removeAttribute("aria-busy");
    })();
  });
});
