/** Labels by which workloads are steered are not a node's own to set. */
const RESTRICTED = "node-restriction.kubernetes.io";
const KUBELET_DOMAINS = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const KUBELET_LABELS = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
]);

type Labels = Readonly<Record<string, string>>;

/** Those that differ between the two and that a node may not touch, in order. */
export function forbiddenLabels(next: Labels = {}, old: Labels = {}): string[] {
  const keys = new Set([...Object.keys(next), ...Object.keys(old)]);
  return [...keys].filter((key) => next[key] !== old[key] && isForbidden(key)).sort();
}

function isForbidden(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash === -1 ? "" : key.slice(0, slash);
  if (isIn(domain, RESTRICTED)) return true;
  const ofSystem = isIn(domain, "kubernetes.io") || isIn(domain, "k8s.io");
  const ofKubelet = KUBELET_LABELS.has(key) || KUBELET_DOMAINS.some((one) => isIn(domain, one));
  return ofSystem && !ofKubelet;
}

function isIn(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
