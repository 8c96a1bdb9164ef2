/**
 * CodeMirror for YAML. It lives in a shadow root: there its styles are constructed style sheets,
 * which the page's Content-Security-Policy allows, while it forbids style elements.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { defaultHighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";

export function YamlEditor(props: { readonly text: string; change(text: string): void }) {
  const host = useRef<HTMLDivElement>(null);
  const change = useRef(props.change);
  change.current = props.change;
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: props.text, extensions: extensions(change) }),
    });
    return () => view.destroy();
  }, []);
  return <div ref={host} class="editor" />;
}

function extensions(change: { readonly current: (text: string) => void }) {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    indentOnInput(),
    yaml(),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": "YAML of the object" }),
    EditorView.theme({
      "&": {
        height: "60vh",
        border: "1px solid var(--line)",
        backgroundColor: "#fff",
        color: "#111",
      },
      ".cm-scroller": { fontFamily: "ui-monospace, monospace", fontSize: "13px" },
    }),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) change.current(state.doc.toString());
    }),
  ];
}
