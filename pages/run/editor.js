// CodeMirror with as little as is needed. Tab indents, but only while somebody writes: after a click or
// another key, until Escape or a run. Who comes with Tab leaves with Tab.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
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
export function editor(parent, { base, text, label }, bar, { run, runAndGoOn, changed }) {
  const leaves = yes => view.setTabFocusMode(yes);
  const keys = [
    { key: "Shift-Enter", run: () => (leaves(true), runAndGoOn(), true) },
    { key: "Ctrl-Enter", run: () => (leaves(true), run(), true) },
    indentWithTab,
  ];
  const extensions = [
    matchMedia("(max-width: 40rem)").matches ? EditorView.lineWrapping : [],
    history(), bracketMatching(), indentUnit.of("    "), python(), syntaxHighlighting(colors),
    EditorView.scrollMargins.of(() => ({ top: bar.getBoundingClientRect().bottom })),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": "run-keys", tabindex: "0" }),
    EditorView.domEventHandlers({
      focus: () => leaves(true),
      click: () => leaves(false),
      keydown: event => {
        if (!/^(Tab|Shift|Control|Alt|Meta)$/.test(event.key)) leaves(event.key === "Escape");
        if (event.key === "/") event.stopPropagation();  // on a page of Sphinx it goes to the search
      },
    }),
    EditorView.updateListener.of(update => update.docChanged && changed()),
    keymap.of([...keys, ...defaultKeymap, ...historyKeymap]),
  ];
  const state = doc => EditorState.create({ doc, extensions });
  const view = new EditorView({ parent, state: state(text) });
  return {
    text: () => view.state.doc.toString(),
    reset: () => view.setState(state(base)),
    focus: () => view.focus(),
    isVisible: () => parent.offsetParent !== null,  // not in a solution that is folded
  };
}
