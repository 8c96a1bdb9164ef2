/** Finds the scale sub-resource of a reference, in any API group. */
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import type { CrossVersionObjectReference } from "#api/generated/autoscaling.v2.ts";
import type { Reader, Resource } from "#runtime/controller.ts";

export type FoundResource =
  | { readonly ok: true; readonly resource: Resource; readonly hasScale: boolean }
  | { readonly ok: false; readonly error: string };

export type FoundScale =
  | { readonly ok: true; readonly scale: Scale; readonly resource: Resource }
  | { readonly ok: false; readonly error: string; readonly isMissing: boolean };

interface ApiGroup {
  readonly versions: readonly { readonly groupVersion: string }[];
}

interface ApiResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

export async function findScale(
  reader: Reader,
  namespace: string,
  { apiVersion = "", kind, name }: CrossVersionObjectReference,
): Promise<FoundScale> {
  const found = await resourceOfKind(reader, apiVersion, kind);
  if (!found.ok) return { ...found, isMissing: true };
  const { resource } = found;
  const base = resource.group === "" ? "/api" : `/apis/${resource.group}`;
  const path = `${base}/${resource.version}/namespaces/${namespace}/${resource.names.plural}/${name}`;
  const answer = await reader.raw(`${path}/scale`);
  if (!answer.ok) {
    const { message = "", code } = answer.status;
    return { ok: false, error: message, isMissing: code === 404 };
  }
  return { ok: true, scale: answer.value as Scale, resource };
}

/** Of the reference's apiVersion only the group is used. */
export async function resourceOfKind(
  reader: Reader,
  apiVersion: string,
  kind: string,
): Promise<FoundResource> {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  for (const groupVersion of await versionsOf(reader, group)) {
    const path = group === "" ? `/api/${groupVersion}` : `/apis/${groupVersion}`;
    const list = await reader.raw(path);
    if (!list.ok) continue;
    const { resources = [] } = list.value as ApiResourceList;
    const match = resources.find((r) => r.kind === kind && !r.name.includes("/"));
    if (match === undefined) continue;
    const resource: Resource = {
      group,
      version: groupVersion.slice(groupVersion.indexOf("/") + 1),
      apiVersion: groupVersion,
      scope: match.namespaced ? "Namespaced" : "Cluster",
      names: { kind, plural: match.name },
      verbs: match.verbs,
    };
    const hasScale = resources.some((r) => r.name === `${match.name}/scale` && r.kind === "Scale");
    return { ok: true, resource, hasScale };
  }
  return { ok: false, error: `no matches for kind "${kind}" in group "${group}"` };
}

async function versionsOf(reader: Reader, group: string): Promise<readonly string[]> {
  if (group === "") return ["v1"];
  const answer = await reader.raw(`/apis/${group}`);
  if (!answer.ok) return [];
  return (answer.value as ApiGroup).versions.map(({ groupVersion }) => groupVersion);
}
