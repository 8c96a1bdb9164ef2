/** The downward API: values that a pod takes from itself. */
import type { ObjectFieldSelector, ResourceFieldSelector } from "#api/generated/core.v1.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

const FIELDS: ReadonlySet<string> = new Set([
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.restartPolicy",
  "spec.serviceAccountName",
  "spec.schedulerName",
  "status.phase",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]);
const RESOURCES = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const HUGE_PAGES = /^(requests|limits)\.hugepages-/;
const BYTE_DIVISORS = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";

/** `allowed`: the fields that this place can take, beside single labels and annotations. */
export function validateFieldRef(
  { apiVersion = "", fieldPath }: ObjectFieldSelector,
  allowed: readonly string[],
  path: Path,
  errors: FieldError[],
): void {
  if (apiVersion === "") {
    errors.push(required(path.child("apiVersion"), ""));
    return;
  }
  const at = path.child("fieldPath");
  if (fieldPath === "") {
    errors.push(required(at, ""));
    return;
  }
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  const fault = conversionFault(apiVersion, fieldPath, subscript?.[1]);
  if (fault !== undefined) {
    errors.push(invalid(at, fieldPath, `error converting fieldPath: ${fault}`));
    return;
  }
  if (subscript === null) {
    const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
    if (!allowed.includes(field)) errors.push(notSupported(at, field, [...allowed].sort()));
    return;
  }
  const key = subscript[1] === "metadata.annotations" ? subscript[2]!.toLowerCase() : subscript[2]!;
  for (const fault of isQualifiedName(key)) errors.push(invalid(path, key, fault));
}

/** `inVolume`: beside the resource, the container has to be named. */
export function validateResourceFieldRef(
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  inVolume: boolean,
  path: Path,
  errors: FieldError[],
): void {
  if (inVolume && containerName === "") errors.push(required(path.child("containerName"), ""));
  else if (resource === "") errors.push(required(path.child("resource"), ""));
  else if (!RESOURCES.includes(resource) && !HUGE_PAGES.test(resource)) {
    errors.push(notSupported(path.child("resource"), resource, RESOURCES));
  }
  const fault = divisorFault(resource, divisor ?? "0");
  if (fault !== undefined) errors.push(invalid(path.child("divisor"), resource, fault));
}

function conversionFault(
  apiVersion: string,
  fieldPath: string,
  subscripted: string | undefined,
): string | undefined {
  if (apiVersion !== "v1") return `unsupported pod version: ${apiVersion}`;
  if (subscripted !== undefined) {
    const known = subscripted === "metadata.annotations" || subscripted === "metadata.labels";
    return known ? undefined : `field label does not support subscript: ${fieldPath}`;
  }
  const known = FIELDS.has(fieldPath) || fieldPath === "spec.host";
  return known ? undefined : `field label not supported: ${fieldPath}`;
}

function divisorFault(resource: string, divisor: string): string | undefined {
  if (quantitySign(quantityOf(divisor)) === 0) return undefined;
  if (resource === "limits.cpu" || resource === "requests.cpu") {
    if (divisor === "1m" || divisor === "1") return undefined;
    return "only divisor's values 1m and 1 are supported with the cpu resource";
  }
  const what = byteResource(resource);
  if (what === undefined || /^1([kMGTPE]|[KMGTPE]i)?$/.test(divisor)) return undefined;
  return `only divisor's values ${BYTE_DIVISORS} are supported with the ${what} resource`;
}

function byteResource(resource: string): string | undefined {
  if (HUGE_PAGES.test(resource)) return "hugepages";
  if (/^(requests|limits)\.memory$/.test(resource)) return "memory";
  return /^(requests|limits)\.ephemeral-storage$/.test(resource)
    ? "local ephemeral storage"
    : undefined;
}
