// The search: sections that have the words, the best first, each with the place where they stand.
// language_data.js has Sphinx's stemmer and stop words; searchindex.js calls this with pages/sections.py's index.
const Search = {
  setIndex({ words, titles, columns }) {
    const query = new URLSearchParams(location.search).get("q")?.trim();
    const out = document.getElementById("search-results");
    if (!query) return;
    const sections = columns[0].map((_, i) => columns.map(column => column[i]));
    document.querySelectorAll("input[name=q]").forEach(field => (field.value = query));
    const { best, some, phrases } = ranked(query, words.alike, titles, sections), LIMIT = 40;
    const make = (tag, parent, text = "") => parent.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
    const say = (text, ...values) => values.reduce((said, value) => said.replace("{}", value), text);
    const number = best.length > LIMIT ? say(words.first, LIMIT, best.length) : say(words.found, best.length);
    make("p", out, best.length ? (some ? `${words.some} ` : "") + number : words.none).role = "status";
    const list = make("ul", out);
    list.className = "search";
    const root = document.documentElement.dataset.content_root;
    for (const [page, anchor, title, prose, code] of best.slice(0, LIMIT)) {
      const row = make("li", list), link = make("a", row);
      link.href = `${root}${page}.html${anchor && `#${anchor}`}`;
      link.append(...marked(title, phrases));
      if (anchor) make("small", row, titles[page]);
      const text = hits(prose, phrases).length || !hits(code, phrases).length ? prose : code;
      make(text === code ? "code" : "p", row).append(...marked(excerpt(text, phrases), phrases));
    }
  },
};

const stemmer = new Stemmer(), stems = new Map();

function stem(word) {
  if (!stems.has(word)) stems.set(word, stemmer.stemWord(word.toLowerCase()));
  return stems.get(word);
}

// Words, and Chinese characters, with their places.
const WORD = /\p{Script=Han}|(?:(?!\p{Script=Han})[\p{L}\p{N}])+/gu;
const stemmed = text => ` ${(text.match(WORD) ?? []).map(stem).join(" ")} `;
const count = (text, phrase) => text.split(phrase).length - 1;

// A term is a list of phrases, any of which will do. Text that belongs together, such as torch.compile or
// Chinese between spaces, is one phrase; where no section has it, a word may go on, and Chinese falls into pairs.
function terms(query, alike, all) {
  const parts = query.match(/\S+/g).map(part => [part, stemmed(part)]).filter(([, phrase]) => phrase.trim());
  const telling = parts.filter(([part]) => !stopwords.has(part.toLowerCase()));
  return (telling.length ? telling : parts).flatMap(([, phrase]) => {
    const group = alike.map(one => one.map(stemmed)).find(one => one.includes(phrase));
    if (group || all.some(text => text.includes(phrase))) return [[phrase, ...(group ?? [])]];
    const pairs = [...phrase.matchAll(/(?<=(\p{Script=Han}) )\p{Script=Han}/gu)].map(found => [` ${found[1]} ${found[0]} `]);
    return pairs.length ? pairs : [[phrase.trimEnd()]];
  });
}

function ranked(query, alike, titles, sections) {
  const texts = sections.map(([page, , title, prose, code]) => [title, prose, code, titles[page]].map(stemmed));
  const searched = terms(query, alike, texts.map(one => one.join(""))), whole = stemmed(query);
  const usual = texts.reduce((sum, [, prose]) => sum + prose.length, 0) / texts.length;
  const often = (text, phrases) => Math.max(...phrases.map(phrase => count(text, phrase)));
  const share = (times, text) => times / (times + 0.5 + text.length / usual);  // as in BM25
  const found = texts.map(([title, prose, code, page], i) => ({ section: sections[i], score: 0, has: 0, title, prose, code, page }));
  for (const phrases of searched) {
    const here = found.map(({ title, prose, code, page }) => {
      const [inTitle, inProse, inCode, inPage] = [title, prose, code, page].map(text => often(text, phrases));
      const named = inTitle && 2 + 4 * Math.max(...phrases.map(one => title.includes(one) ? one.length / title.length : 0));
      return named + 3 * share(inProse, prose) + share(inCode, code) + (inPage > 0);
    });
    const rare = Math.log(1 + texts.length / (1 + here.filter(Boolean).length));
    here.forEach((score, i) => { found[i].score += rare * score; found[i].has += score > 0; });
  }
  if (searched.length > 1)  // together, in this order
    for (const one of found) one.score += 6 * one.title.includes(whole) + 3 * one.prose.includes(whole);
  const most = Math.max(...found.map(one => one.has));
  const best = found.filter(one => one.has && one.has === most).sort((a, b) => b.score - a.score);
  return { best: best.map(one => one.section), some: most < searched.length, phrases: searched.flat() };
}

// Where phrases begin and end in a text.
function hits(text, phrases) {
  const words = [...text.matchAll(WORD)], found = [];
  const wanted = phrases.map(one => [one.trim().split(" "), !one.endsWith(" ")]);
  for (let at = 0; at < words.length; at++) {
    const lengths = wanted.filter(([parts, open]) => parts.every((part, i) => {
      const own = words[at + i] && stem(words[at + i][0]);
      return own === part || open && own?.startsWith(part);
    })).map(([parts]) => parts.length);
    if (!lengths.length) continue;
    const start = words[at].index;
    at += Math.max(...lengths) - 1;
    found.push([start, words[at].index + words[at][0].length]);
  }
  return found;
}

function excerpt(text, phrases) {
  const length = /\p{Script=Han}/u.test(text) ? 140 : 240;
  const found = hits(text, phrases);
  const near = ([start]) => new Set(found.filter(([from, to]) => from >= start && to < start + length - 60).map(one => stemmed(text.slice(...one)))).size;
  const [first] = found.reduce((best, one) => (near(one) > near(best) ? one : best), found[0] ?? [0]);
  let start = Math.max(0, first - 60);
  if (start) start += Math.max(0, text.slice(start, first).search(/(?<=[\s，。：；])/u));  // at the next word
  const part = text.slice(start, start + length), whole = start + length >= text.length;
  return `${start > 0 ? "… " : ""}${whole ? part : `${part.replace(/\s[^\s\p{Script=Han}]*$/u, "")} …`}`;
}

function marked(text, phrases) {
  const nodes = [];
  let end = 0;
  for (const [start, stop] of hits(text, phrases)) {
    nodes.push(text.slice(end, start), Object.assign(document.createElement("span"), { className: "highlighted", textContent: text.slice(start, stop) }));
    end = stop;
  }
  return [...nodes, text.slice(end)];
}
