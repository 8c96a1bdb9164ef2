/** Which resources there are (cpu, hugepages-2Mi, example.com/gpu) and what each may be used for. */
import { type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { isQualifiedName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export const HUGE_PAGES_PREFIX = "hugepages-";
const REQUESTS_PREFIX = "requests.";
const NATIVE_DOMAIN = "kubernetes.io/";

const COMPUTE = ["cpu", "memory", "ephemeral-storage"];
const COUNTED_OBJECTS = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];
const QUOTA: ReadonlySet<string> = new Set([
  ...COMPUTE,
  ...COMPUTE.map((name) => `requests.${name}`),
  ...COMPUTE.map((name) => `limits.${name}`),
  "requests.storage",
  ...COUNTED_OBJECTS,
]);
const POD_LEVEL = ["cpu", "memory"];

/** A resource that the system itself knows, whatever it may be used for. */
function isStandardResource(name: string): boolean {
  return QUOTA.has(name) || name === "storage" || isQuotaHugePages(name);
}

export function isStandardQuotaResource(name: string): boolean {
  return QUOTA.has(name) || isQuotaHugePages(name);
}

export function isHugePages(name: string): boolean {
  return name.startsWith(HUGE_PAGES_PREFIX);
}

/** Without a domain, or in one of the project's own. */
export function isNativeResource(name: string): boolean {
  return !name.includes("/") || name.includes(NATIVE_DOMAIN);
}

/** A resource that a vendor offers under its own domain; always counted in whole units. */
export function isExtendedResource(name: string): boolean {
  if (isNativeResource(name) || name.startsWith(REQUESTS_PREFIX)) return false;
  return isQualifiedName(`${REQUESTS_PREFIX}${name}`).length === 0;
}

/** May a request be lower than the limit? */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePages(name);
}

export function isIntegerResource(name: string): boolean {
  return COUNTED_OBJECTS.includes(name) || isExtendedResource(name);
}

/** May be given for a pod as a whole. */
export function isPodLevelResource(name: string): boolean {
  return POD_LEVEL.includes(name) || isHugePages(name);
}

export function validateResourceName(name: string, path: Path): FieldError[] {
  const faults = isQualifiedName(name);
  if (faults.length > 0) return faults.map((fault) => invalid(path, name, fault));
  if (name.includes("/") || isStandardResource(name)) return [];
  return [invalid(path, name, "must be a standard resource type or fully qualified")];
}

export function validateContainerResourceName(name: string, path: Path): FieldError[] {
  if (COMPUTE.includes(name)) return [];
  const errors = validateResourceName(name, path);
  if (!name.includes("/")) {
    if (!isHugePages(name)) {
      errors.push(invalid(path, name, "must be a standard resource for containers"));
    }
  } else if (!isNativeResource(name) && !isExtendedResource(name)) {
    errors.push(invalid(path, name, "doesn't follow extended resource name standard"));
  }
  return errors;
}

export function validatePodResourceName(name: string, path: Path): FieldError[] {
  const errors = validateResourceName(name, path);
  if (errors.length > 0 || isPodLevelResource(name)) return errors;
  return [notSupported(path, name, ["cpu", HUGE_PAGES_PREFIX, "memory"])];
}

function isQuotaHugePages(name: string): boolean {
  return isHugePages(name) || name.startsWith(`${REQUESTS_PREFIX}${HUGE_PAGES_PREFIX}`);
}
