/** An APIService for each group version that this server serves itself, so that clients see all of them. */

import type { APIService } from "#api/generated/apiregistration.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import type { Discovery } from "../discovery/discovery.ts";
import { builtInGroupPriority } from "../discovery/group-priorities.ts";
import type { Objects } from "../storage/objects.ts";
import { localApiService, MANAGED } from "./local-api-service.ts";

const VERSION_PRIORITIES: Readonly<Record<string, number>> = {
  "/v1": 1,
  "autoscaling/v2": 30,
  "flowcontrol.apiserver.k8s.io/v1": 21,
  "resource.k8s.io/v1": 21,
};

/** Returns what went wrong. */
export async function ensureApiServices(
  objects: Objects,
  discovery: Discovery,
  nowMs: number,
): Promise<string[]> {
  const wanted = discovery
    .groupVersions()
    .filter(({ group, isBuiltIn }) => isBuiltIn && group !== "apiregistration.k8s.io")
    .map(({ group, version }) => apiServiceOf(group, version, nowMs));
  const created = await Promise.all(
    wanted
      .filter(({ metadata }) => objects.get(apiServiceKind, "", metadata.name ?? "") === undefined)
      .map((service) => objects.create(apiServiceKind, service)),
  );
  return created.flatMap((one) => (one.ok ? [] : [one.status.message ?? ""]));
}

function apiServiceOf(group: string, version: string, nowMs: number): APIService {
  const spec = {
    ...(group === "" ? {} : { group }),
    version,
    groupPriorityMinimum: builtInGroupPriority(group) ?? 15000,
    versionPriority: VERSION_PRIORITIES[`${group}/${version}`] ?? versionPriority(version),
  };
  return localApiService(spec, { [MANAGED]: "onstart" }, nowMs);
}

function versionPriority(version: string): number {
  if (version.includes("alpha")) return 1;
  return version.includes("beta") ? 9 : 15;
}
