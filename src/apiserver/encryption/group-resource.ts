/**
 * Names of resources in an encryption configuration: `secrets`, `deployments.apps`, `*.apps` (all of a
 * group), `*.` (all of the core group) and `*.*` (everything).
 */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export function parseGroupResource(text: string): GroupResource {
  const dot = text.indexOf(".");
  if (dot < 0) return { group: "", resource: text };
  return { group: text.slice(dot + 1), resource: text.slice(0, dot) };
}

/** As messages show it. */
export function showGroupResource({ group, resource }: GroupResource): string {
  if (group === "") return resource === "*" ? "*." : resource;
  return `${resource}.${group}`;
}

/** What is wrong with the list of resources of one rule. */
export function resourceFaults(resources: readonly string[], path: Path): FieldError[] {
  return [
    ...overlapFaults(resources, path),
    ...resources.flatMap((text, at) => {
      const fault = nameFault(text);
      return fault === undefined ? [] : [invalid(path.index(at), text, fault)];
    }),
  ];
}

function overlapFaults(resources: readonly string[], path: Path): FieldError[] {
  const all = resources.map(parseGroupResource);
  let duplicate = false;
  let overlap = false;
  for (const [i, one] of all.entries()) {
    for (const [j, other] of all.entries()) {
      if (i === j) continue;
      const sameGroup = one.group === other.group;
      if (sameGroup && one.resource === other.resource && !duplicate) duplicate = true;
      else if (one.group === "*" && one.resource === "*") overlap = true;
      else if (sameGroup && (one.resource === "*" || other.resource === "*")) overlap = true;
    }
  }
  return [
    ...(duplicate ? [invalid(path, resources, DUPLICATE)] : []),
    ...(overlap ? [invalid(path, resources, OVERLAP)] : []),
  ];
}

const DUPLICATE = "the same resource cannot be specified multiple times";
const OVERLAP =
  "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";

/** Kept by the server itself; there is no API for them. */
const WITHOUT_API: ReadonlySet<string> = new Set([
  "apiserveripinfo",
  "serviceipallocations",
  "servicenodeportallocations",
]);

function nameFault(text: string): string | undefined {
  if (text.toLowerCase() !== text) return "resource name should not contain capital letters";
  if (text === "*") {
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  }
  if (WITHOUT_API.has(text)) return "resources which do not have REST API/s cannot be encrypted";
  const { group, resource } = parseGroupResource(text);
  if (group === "events.k8s.io") {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  }
  if (group === "extensions") {
    return "'extensions' group has been removed and cannot be used for encryption";
  }
  return group === "*" && resource !== "*"
    ? "encrypting the same resource across groups is not supported"
    : undefined;
}
