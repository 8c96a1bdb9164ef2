/** Finds out which resources a server has, built in or added. */
import type { ResourceRef } from "#client/transport.ts";
import type { Reader, Resource } from "./controller.ts";

interface ApiResourceList {
  readonly groupVersion: string;
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

interface ApiGroupList {
  readonly groups: readonly {
    readonly preferredVersion: GroupVersion;
    readonly versions: readonly GroupVersion[];
  }[];
}

interface GroupVersion {
  readonly groupVersion: string;
}

export interface Discovered {
  /** Each resource once, in its group's preferred version. */
  readonly resources: readonly Resource[];
  /** One text for each group that did not answer. */
  readonly failures: readonly string[];
  /** Whether a group is one of those. */
  isUnknown(group: string): boolean;
}

export async function discoverResources(reader: Reader): Promise<Discovered> {
  const groups = await reader.raw("/apis");
  if (!groups.ok) {
    const failures = [groups.status.message ?? "/apis"];
    return { resources: [], failures, isUnknown: () => true };
  }
  const named = (groups.value as ApiGroupList).groups.map(({ preferredVersion, versions }) => ({
    groupVersion: preferredVersion.groupVersion,
    groupVersions: versions.map(({ groupVersion }) => groupVersion),
  }));
  const failures: string[] = [];
  const unknown = new Set<string>();
  const lists = await Promise.all(
    [{ groupVersion: "v1", groupVersions: ["v1"] }, ...named].map(async (group) => {
      const { groupVersion, groupVersions } = group;
      const path = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
      const list = await reader.raw(path);
      if (list.ok) return resourcesIn(list.value as ApiResourceList, groupVersions);
      failures.push(`${groupVersion}: stale GroupVersion discovery: ${groupVersion}`); // upstream's words
      unknown.add(groupOf(groupVersion));
      return [];
    }),
  );
  return { resources: lists.flat(), failures, isUnknown: (group) => unknown.has(group) };
}

function resourcesIn(
  { groupVersion, resources = [] }: ApiResourceList,
  groupVersions: readonly string[],
): readonly Resource[] {
  const group = groupOf(groupVersion);
  const version = groupVersion.slice(groupVersion.indexOf("/") + 1);
  return resources
    .filter(({ name }) => !name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => {
      const ref: ResourceRef = {
        group,
        version,
        apiVersion: groupVersion,
        scope: namespaced ? "Namespaced" : "Cluster",
        names: { kind, plural: name },
      };
      return { ...ref, verbs, groupVersions };
    });
}

function groupOf(groupVersion: string): string {
  return groupVersion.slice(0, Math.max(0, groupVersion.indexOf("/")));
}
