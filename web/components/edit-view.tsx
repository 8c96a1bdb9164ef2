/**
 * Edits an object as YAML. First the server tries the change (dryRun=All), with admission and
 * validation, and the difference is shown; then it can be saved. A change by another client in between
 * is a conflict, which the server reports.
 */
import { dump, load } from "js-yaml";
import { useMemo, useState } from "preact/hooks";
import { withDryRun } from "../models/actions.ts";
import { isSecret } from "../models/hidden-values.ts";
import type { KubeObject } from "../models/kube-object.ts";
import { objectPath, type Resource } from "../models/resources.ts";
import { callApi } from "../state/api.ts";
import { completionsFor } from "../state/openapi.ts";
import { Difference } from "./difference.tsx";
import { Problem } from "./problem.tsx";
import { YamlEditor } from "./yaml-editor.tsx";

type Step =
  | { readonly at: "editing"; readonly error?: string; readonly done?: string }
  | { readonly at: "checked"; readonly wanted: unknown; readonly after: KubeObject }
  | { readonly at: "sending" };

export function EditView(props: { readonly resource: Resource; readonly object: KubeObject }) {
  const [isConfirmed, setConfirmed] = useState(!isSecret(props.object));
  const [base, setBase] = useState(props.object);
  const [text, setText] = useState(() => yamlOf(props.object));
  const [step, setStep] = useState<Step>({ at: "editing" });
  const complete = useMemo(() => completionsFor(props.resource), [props.resource]);
  const path = objectPath(props.resource, base.metadata.namespace ?? "", base.metadata.name);
  const isOutdated = props.object.metadata.resourceVersion !== base.metadata.resourceVersion;

  const put = async (url: string, body: unknown): Promise<KubeObject | undefined> => {
    setStep({ at: "sending" });
    try {
      return await callApi<KubeObject>(url, { method: "PUT", body });
    } catch (error) {
      setStep({ at: "editing", error: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  };
  const check = async (): Promise<void> => {
    let wanted: unknown;
    try {
      wanted = load(text);
    } catch (error) {
      setStep({ at: "editing", error: `This is not YAML: ${String(error)}` });
      return;
    }
    const after = await put(withDryRun(path), wanted);
    if (after !== undefined) setStep({ at: "checked", wanted, after });
  };
  const save = async (wanted: unknown): Promise<void> => {
    const saved = await put(path, wanted);
    if (saved === undefined) return;
    reset(saved);
    setStep({ at: "editing", done: "Saved." });
  };
  const reset = (object: KubeObject): void => {
    setBase(object);
    setText(yamlOf(object));
  };

  if (!isConfirmed) {
    return (
      <p class="notice">
        Editing shows the values of the Secret.{" "}
        <button type="button" onClick={() => setConfirmed(true)}>
          Show and edit
        </button>
      </p>
    );
  }
  return (
    <>
      {isOutdated && step.at !== "sending" && (
        <p class="hint" role="status">
          The object has changed since.{" "}
          <button type="button" onClick={() => reset(props.object)}>
            Take its current state
          </button>
        </p>
      )}
      {step.at === "editing" && <Problem text={step.error} />}
      {step.at === "editing" && step.done !== undefined && <p role="status">{step.done}</p>}
      {step.at === "checked" ? (
        <section aria-label="Difference">
          <p>This is what the server would store:</p>
          <Difference before={base} after={step.after} />
          <button type="button" class="primary" onClick={() => void save(step.wanted)}>
            Save
          </button>{" "}
          <button type="button" onClick={() => setStep({ at: "editing" })}>
            Edit again
          </button>
        </section>
      ) : (
        <>
          <YamlEditor
            text={text}
            key={base.metadata.resourceVersion}
            change={setText}
            complete={complete}
          />
          <button
            type="button"
            class="primary"
            disabled={step.at === "sending"}
            onClick={() => void check()}
          >
            Check and show the difference
          </button>
        </>
      )}
    </>
  );
}

function yamlOf(object: KubeObject): string {
  const { managedFields: _, ...metadata } = object.metadata;
  return dump({ ...object, metadata }, { lineWidth: -1 });
}
