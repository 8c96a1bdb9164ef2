/** PartialObjectMetadata: an object reduced to its metadata. */
import type { KubeObject } from "#api/kind.ts";

export function partialMetadata({ metadata }: KubeObject, version: "v1" | "v1beta1"): KubeObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata };
}
