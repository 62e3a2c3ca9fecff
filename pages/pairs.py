"""How Chinese is searched: by pairs of characters, so that no dictionary is needed."""

import itertools
import re

from sphinx.search import SearchLanguage


class Pairs(SearchLanguage):
    """A page is found by a character, by two neighbors, and by a word in other letters."""

    lang, language_name = "zh", "Chinese"
    # The same for what a visitor types; a single character only if nothing else is typed with it.
    js_splitter_code = """
function splitQuery(query) {
  const words = [];
  for (const run of query.toLowerCase().match(/[\\u3400-\\u9fff]+|[\\p{L}\\p{N}_]+/gu) || []) {
    if (run.length == 1 || !/[\\u3400-\\u9fff]/.test(run)) words.push(run);
    else for (let i = 0; i + 1 < run.length; i++) words.push(run.slice(i, i + 2));
  }
  return words;
}
"""

    def split(self, input):
        words = []
        for run in re.findall(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+", input.lower()):
            if re.match(r"[\u3400-\u9fff]", run):
                words += [*run, *map("".join, itertools.pairwise(run))]
            else:
                words.append(run)
        return words
