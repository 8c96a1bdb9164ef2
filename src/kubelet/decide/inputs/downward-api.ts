/** Fields of the pod and amounts of its resources as text, for variables and files. */
import type { Container, Pod, ResourceFieldSelector } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { quantityOf, scaledValue } from "#api/meta/quantity.ts";

/** Where the pod runs: the values of fields that are not in the Pod object. */
export interface PodPlace {
  readonly hostIps: readonly string[];
  readonly podIps: readonly string[];
  /** Of the node, in the place of limits that are not given. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** Throws for paths that do not exist; the API server has checked those of stored pods. */
export function podField(pod: Pod, path: string, place: PodPlace): string {
  const { metadata, spec } = pod;
  const subscript = /^metadata\.(annotations|labels)\['([^']*)'\]$/.exec(path);
  if (subscript !== null) {
    const [, map, key = ""] = subscript;
    return (map === "labels" ? metadata.labels : metadata.annotations)?.[key] ?? "";
  }
  switch (path) {
    case "metadata.name":
      return metadata.name ?? "";
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid ?? "";
    case "metadata.labels":
      return formatMap(metadata.labels ?? {});
    case "metadata.annotations":
      return formatMap(metadata.annotations ?? {});
    case "spec.nodeName":
      return spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec.serviceAccountName ?? "";
    case "status.hostIP":
      return place.hostIps[0] ?? "";
    case "status.hostIPs":
      return place.hostIps.join(",");
    case "status.podIP":
      return place.podIps[0] ?? "";
    case "status.podIPs":
      return place.podIps.join(",");
    default:
      throw new Error(`unsupported fieldPath: ${path}`);
  }
}

/** One line for each, sorted by key. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${goQuote(map[key] ?? "")}`)
    .join("\n");
}

/** In units of the divisor, rounded up. */
export function resourceField(
  { resource, divisor = "1" }: Pick<ResourceFieldSelector, "resource" | "divisor">,
  container: Container,
  { allocatable }: PodPlace,
): string {
  const [kind = "", ...rest] = resource.split(".");
  const name = rest.join(".");
  const list = kind === "limits" ? container.resources?.limits : container.resources?.requests;
  const given = list?.[name];
  const isComputed = name === "cpu" || name === "memory" || name === "ephemeral-storage";
  const fallback = kind === "limits" && isComputed ? allocatable[name] : undefined;
  const amount = quantityOf(given ?? fallback ?? "0");
  const unit = quantityOf(divisor === "0" ? "1" : divisor);
  const divided = divideUp(scaledValue(amount, -3), scaledValue(unit, -3));
  return String(divided);
}

function divideUp(amount: number, unit: number): number {
  return unit === 0 ? amount : Math.ceil(amount / unit);
}
