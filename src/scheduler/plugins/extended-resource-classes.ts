/** Device classes that offer their devices under the name of an extended resource. */
import type { DeviceClass } from "#api/generated/resource.v1.ts";
import type { Handle } from "#scheduler/plugin.ts";

const IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/";

/** The newest class that claims the name, or the one that the implicit name spells out. */
export function classOfExtendedResource(
  { objects }: Pick<Handle, "objects">,
  name: string,
): DeviceClass | undefined {
  if (objects.deviceClasses.size === 0) return undefined;
  if (name.startsWith(IMPLICIT_PREFIX)) {
    return objects.deviceClasses.get(undefined, name.slice(IMPLICIT_PREFIX.length));
  }
  let found: DeviceClass | undefined;
  for (const candidate of objects.deviceClasses.list()) {
    if (candidate.spec.extendedResourceName !== name) continue;
    if (found === undefined || isPreferred(candidate, found)) found = candidate;
  }
  return found;
}

function isPreferred(a: DeviceClass, b: DeviceClass): boolean {
  const [timeA, timeB] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (timeA !== timeB) return timeA > timeB;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "");
}
