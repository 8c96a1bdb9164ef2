/** An APIService for each served version of a group that CustomResourceDefinitions define. */

import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { localApiService, MANAGED } from "../cluster/local-api-service.ts";
import { CUSTOM_PRIORITIES } from "../discovery/group-priorities.ts";
import type { Objects } from "../storage/objects.ts";

/** As long as the definition is there; those of built-in groups stay. */
const LABELS = { [MANAGED]: "true" };

/** Creates those that are missing in the group and removes those whose version is gone. */
export async function syncApiServices(
  objects: Objects,
  group: string,
  versions: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  const own = [...objects.list(apiServiceKind)].filter(
    ({ metadata, spec }) => spec?.group === group && metadata.labels?.[MANAGED] === "true",
  );
  for (const { metadata, spec } of own) {
    if (versions.has(spec?.version ?? "")) continue;
    await objects.delete(apiServiceKind, "", metadata.name ?? "");
  }
  for (const version of versions) {
    if (objects.get(apiServiceKind, "", `${version}.${group}`) !== undefined) continue;
    const service = localApiService({ group, version, ...CUSTOM_PRIORITIES }, LABELS, nowMs);
    await objects.create(apiServiceKind, service);
  }
}
