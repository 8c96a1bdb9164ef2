/**
 * CodeMirror for YAML. It lives in a shadow root: there its styles are constructed style sheets,
 * which the page's Content-Security-Policy allows, while it forbids style elements.
 */
import {
  acceptCompletion,
  autocompletion,
  type CompletionContext,
  completionKeymap,
} from "@codemirror/autocomplete";
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
import type { Completions } from "../models/schema-completions.ts";

export type Complete = (text: string, offset: number) => Promise<Completions>;

export function YamlEditor(props: {
  readonly text: string;
  change(text: string): void;
  /** What can be typed at an offset. */
  readonly complete: Complete;
}) {
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
      state: EditorState.create({
        doc: props.text,
        extensions: extensions(change, props.complete),
      }),
    });
    return () => view.destroy();
  }, []);
  return <div ref={host} class="editor" />;
}

function extensions(change: { readonly current: (text: string) => void }, complete: Complete) {
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    indentOnInput(),
    yaml(),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    autocompletion({
      interactionDelay: 0,
      override: [(context) => completionsAt(context, complete)],
    }),
    keymap.of([
      { key: "Tab", run: acceptCompletion },
      ...completionKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      indentWithTab,
    ]),
    EditorView.contentAttributes.of({ "aria-label": "YAML of the object", tabindex: "0" }),
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

/** While a word is typed, or when it is asked for with Ctrl+Space. */
async function completionsAt(context: CompletionContext, complete: Complete) {
  if (!context.explicit && context.matchBefore(/[\w.]+$/) === null) return null;
  const { from, options } = await complete(context.state.doc.toString(), context.pos);
  return {
    from,
    options: options.map(({ label, detail, info, text }) => ({ label, detail, info, apply: text })),
    validFor: /^[\w.]*$/,
  };
}
