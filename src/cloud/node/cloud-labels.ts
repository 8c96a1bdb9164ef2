/** The labels of a node that come from its cloud. */
import type { Node } from "#api/generated/core.v1.ts";
import type { InstanceMetadata } from "../provider.ts";

/** Each old label with the one that has taken its place. The old one decides. */
const LABELS = {
  instanceType: ["beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"],
  zone: ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  region: ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
} as const;

const KUBERNETES_LABEL = /(^|\.)(kubernetes|k8s)\.io\//;

/** All labels that a node has once it is initialized. */
export function initialLabels(node: Node, metadata: InstanceMetadata): Record<string, string> {
  const labels = { ...node.metadata.labels };
  for (const [field, names] of Object.entries(LABELS)) {
    const value = metadata[field as keyof typeof LABELS] ?? "";
    if (value !== "") for (const name of names) labels[name] = value;
  }
  for (const [name, value] of Object.entries(metadata.additionalLabels ?? {})) {
    if (!KUBERNETES_LABEL.test(name) && !Object.hasOwn(labels, name)) labels[name] = value;
  }
  return labels;
}

/** New labels that differ from the old ones they replace. */
export function labelsToCorrect({ metadata }: Node): Record<string, string> {
  const labels = metadata.labels ?? {};
  const wrong = Object.values(LABELS).flatMap(([old, current]) =>
    labels[old] !== undefined && labels[current] !== labels[old] ? [[current, labels[old]]] : [],
  );
  return Object.fromEntries(wrong);
}
