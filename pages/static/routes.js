// The route that a reader has chosen on the first page: where they are, where to stop, what is next.
addEventListener("DOMContentLoaded", () => {
  const bar = document.querySelector(".route"), KEY = "d2lhybrid-route";
  const store = value => {
    try {
      if (value !== undefined) localStorage.setItem(KEY, JSON.stringify(value));
      return JSON.parse(localStorage.getItem(KEY));
    } catch { return null; }
  };
  const { routes, words } = JSON.parse(bar?.dataset.all ?? '{"routes": []}');
  const page = DOCUMENTATION_OPTIONS.pagename, home = document.documentElement.dataset.content_root;
  const begun = new URLSearchParams(location.search).get("route");
  const kept = begun ? store({ number: begun, page }) ?? { number: begun, page } : store();
  if (begun) try { history.replaceState(null, "", location.pathname + location.hash); } catch {}
  const route = routes[kept?.number - 1];
  if (!route) return;

  const say = (text, ...values) => values.reduce((said, value) => said.replace("{}", value), text);
  const link = (href, text) => Object.assign(document.createElement("a"), { href, textContent: text });
  const to = leg => `${home}${leg.page}.html${leg.from && `#${encodeURIComponent(leg.from)}`}`;
  const heading = anchor => document.getElementById(anchor).closest("section").querySelector("h2, h3").firstChild.textContent;
  const { name, legs } = route, pages = [...new Set(legs.map(leg => leg.page))];
  const leave = Object.assign(document.createElement("button"), { type: "button", textContent: words.leave });
  leave.onclick = () => { store(null); location.reload(); };
  const called = leg => leg.page === page && leg.from ? heading(leg.from) : leg.title;
  const onward = leg => leg ? link(to(leg), say(words.next, called(leg))) : link(`${home}guesses.html`, words.mine);
  bar.hidden = false;

  const here = legs.filter(leg => leg.page === page), next = legs[legs.lastIndexOf(here.at(-1)) + 1];
  if (!here.length) {
    const leg = legs.find(leg => leg.page === kept.page) ?? legs[0];
    const way = leg.page === legs.at(-1).page ? words.last : words.on;
    return bar.append(link(to(leg), say(way, name, leg.title)), " ", leave);
  }
  store({ ...kept, page });
  bar.append(say(words.at, name, pages.indexOf(page) + 1, pages.length));
  for (const leg of here.filter(leg => leg.to)) {
    const [before, after] = (leg.from ? words.read : words.until).split("{}");
    const part = document.createElement("span");
    part.append(before, link(`#${encodeURIComponent(leg.to)}`, heading(leg.to)), after);
    const mark = Object.assign(document.createElement("p"), { className: "route-stop" });
    mark.append(next || leg !== here.at(-1) ? words.stop : words.end, " ", onward(legs[legs.indexOf(leg) + 1]));
    document.getElementById(leg.to).closest("section").append(mark);
    bar.append(part);
  }
  bar.append(onward(next), leave);
  const lead = (place, leg) => {
    const theirs = leg && document.querySelector(place);
    if (theirs) [theirs.href, theirs.querySelector(".prev-next-title").textContent] = [to(leg), leg.title];
  };
  lead(".left-prev", legs[legs.indexOf(here[0]) - 1]);
  lead(".right-next", next);
});
