/** PodNodeSelector: an annotation of the namespace sets the node selector of its pods. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { failure, notFoundStatus, success, unknownStatus } from "#api/meta/status.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";

const ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector";
const CLUSTER_DEFAULT = "clusterDefaultNodeSelector";

type Labels = Readonly<Record<string, string>>;
/** The allowed node selector labels by namespace, and the default for all. */
type Selectors = Readonly<Record<string, string>>;

export function podNodeSelector(configuration: unknown): AdmissionPlugin {
  const { podNodeSelectorPluginConfig: selectors = {} } = (configuration ?? {}) as {
    podNodeSelectorPluginConfig?: Selectors;
  };
  return {
    name: "PodNodeSelector",
    operations: ["CREATE"],
    admit(request, { objects }) {
      const pod = objectOfKind(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      const own = namespaceLabels(request.namespace, objects, selectors);
      if ("code" in own) return failure(own.status);
      const refusal = conflict(request, pod, own.labels);
      if (refusal !== undefined) return failure(refusal);
      const nodeSelector = { ...own.labels, ...pod.spec.nodeSelector };
      const selected = Object.keys(nodeSelector).length > 0 ? withSpec(pod, { nodeSelector }) : pod;
      const notAllowed = allowed(request, selected, selectors);
      return notAllowed === undefined ? success(selected) : failure(notAllowed);
    },
    validate(request, { objects }) {
      const pod = objectOfKind(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      const own = namespaceLabels(request.namespace, objects, selectors);
      if ("code" in own) return own.status;
      return conflict(request, pod, own.labels) ?? allowed(request, pod, selectors);
    },
  };
}

type NamespaceLabels =
  | { readonly labels: Labels }
  | { readonly code: "unusable"; readonly status: Status };

function namespaceLabels(name: string, objects: Objects, selectors: Selectors): NamespaceLabels {
  const namespace = objects.get(namespaceKind, "", name);
  if (namespace === undefined) {
    const status = notFoundStatus({ group: "", resource: "namespaces" }, name);
    return { code: "unusable", status };
  }
  const text = namespace.metadata.annotations?.[ANNOTATION] ?? selectors[CLUSTER_DEFAULT] ?? "";
  const labels = parseLabels(text);
  if (labels !== undefined) return { labels };
  return {
    code: "unusable",
    status: unknownStatus(`invalid selector: [${text.split(",").join(" ")}]`),
  };
}

function conflict(request: AdmissionRequest, { spec }: Pod, labels: Labels): Status | undefined {
  const own = spec.nodeSelector ?? {};
  const differs = Object.entries(labels).some(([key, value]) => (own[key] ?? value) !== value);
  if (!differs) return undefined;
  return refuse(
    request,
    "pod node label selector conflicts with its namespace node label selector",
  );
}

function allowed(
  request: AdmissionRequest,
  { spec }: Pod,
  selectors: Selectors,
): Status | undefined {
  const list = parseLabels(selectors[request.namespace] ?? "") ?? {};
  if (Object.keys(list).length === 0) return undefined;
  const fits = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => list[key] === value);
  if (fits) return undefined;
  return refuse(request, "pod node label selector labels conflict with its namespace whitelist");
}

/** `a=b,c=d`; undefined for what is no such list. */
function parseLabels(text: string): Labels | undefined {
  const labels: Record<string, string> = {};
  for (const part of text.split(",")) {
    if (text.trim() === "") break;
    const [key = "", value, ...rest] = part.split("=");
    if (value === undefined || rest.length > 0) return undefined;
    labels[key.trim()] = value.trim();
  }
  return labels;
}
