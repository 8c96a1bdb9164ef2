/** The warnings of the older versions of resource.k8s.io, each of which went out of use as a whole. */
const SPANS = {
  v1alpha3: "deprecated in v1.36+, unavailable in v1.39+",
  v1beta1: "deprecated in v1.35+, unavailable in v1.38+",
  v1beta2: "deprecated in v1.36+, unavailable in v1.39+",
} as const;

export function deprecationOf(version: keyof typeof SPANS, kind: string): string {
  return `resource.k8s.io/${version} ${kind} is ${SPANS[version]}`;
}
