// CodeMirror with as little as is needed. Tab leaves an editor, so that the keyboard gets out.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const words = [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword];
const colors = HighlightStyle.define([
  { tag: words, color: "var(--run-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--run-string)" },
  { tag: tags.comment, color: "var(--run-comment)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--run-number)" },
]);

// The cursor is kept below what stands at the top of the page: `bar`.
export function editor(parent, text, label, bar, { run, runAndGoOn, changed }) {
  const keys = [
    { key: "Shift-Enter", run: () => (runAndGoOn(), true) },
    { key: "Ctrl-Enter", run: () => (run(), true) },
  ];
  const extensions = [
    history(), bracketMatching(), indentUnit.of("    "), python(), syntaxHighlighting(colors),
    EditorView.scrollMargins.of(() => ({ top: bar.getBoundingClientRect().bottom })),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.domEventHandlers({  // elsewhere on a page of Sphinx this key goes to the search
      keydown: event => event.key === "/" && event.stopPropagation(),
    }),
    EditorView.updateListener.of(update => update.docChanged && changed()),
    keymap.of([...keys, ...defaultKeymap, ...historyKeymap]),
  ];
  const fresh = () => EditorState.create({ doc: text, extensions });
  const view = new EditorView({ parent, state: fresh() });
  return {
    text: () => view.state.doc.toString(),
    reset: () => view.setState(fresh()),
    focus: () => view.focus(),
    isVisible: () => parent.offsetParent !== null,  // not in a solution that is folded
  };
}
