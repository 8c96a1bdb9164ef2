/** The difference of two objects as lines of YAML. */
import { dump } from "js-yaml";
import { unifiedDiff } from "../../src/lib/text/unified-diff.ts";
import { withHiddenValues } from "../models/hidden-values.ts";
import type { KubeObject } from "../models/kube-object.ts";

export function Difference(props: { readonly before: KubeObject; readonly after: KubeObject }) {
  const text = unifiedDiff(yamlOf(props.before), yamlOf(props.after));
  if (text === "") return <p>Nothing would change.</p>;
  return (
    <pre class="difference">
      {text.split("\n").map((line, index) => (
        <span key={index} class={classOf(line)}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function yamlOf(object: KubeObject): string {
  const { managedFields: _, ...metadata } = object.metadata;
  const names = { apiVersion: object.apiVersion, kind: object.kind };
  return dump(
    { ...names, ...withHiddenValues(object), metadata },
    { lineWidth: -1, sortKeys: true },
  );
}

function classOf(line: string): string {
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "";
}
