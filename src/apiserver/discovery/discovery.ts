/**
 * What the server serves, for clients that ask: the old documents (one for each group version) and
 * the aggregated one.
 */
import { createHash } from "node:crypto";
import type { Kind } from "#api/kind.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import type { RemoteVersion } from "../aggregation/remote-discovery.ts";
import type { KindRegistry } from "../registry/kind-registry.ts";
import { subresourcesOf } from "../request/subresource-routes.ts";
import type { ApiValue } from "../response/answer.ts";
import type { ServedResource } from "../storage/resources.ts";
import { builtInGroupPriority, CUSTOM_PRIORITIES } from "./group-priorities.ts";

export interface GroupVersions {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
  /** Served by this server, and not by CustomResourceDefinitions. */
  readonly isBuiltIn: boolean;
}

interface Hashed {
  readonly value: ApiValue;
  readonly hash: string;
}

/** What is known of the resources until the next change. */
interface View {
  readonly resources: readonly ServedResource[];
  /** By `GROUP/VERSION`. */
  readonly remote: ReadonlyMap<string, RemoteVersion>;
  readonly groups: readonly GroupVersions[];
  readonly aggregated: Map<boolean, Hashed>;
}

/** Group versions that other servers serve. */
export interface RemoteVersions {
  versions(): readonly RemoteVersion[];
  onChange(listener: () => void): void;
}

export class Discovery {
  readonly #registry: KindRegistry;
  readonly #remote: RemoteVersions | undefined;
  #known: View | undefined;

  /** It follows the registry, and what is known of other servers. */
  constructor(registry: KindRegistry, remote?: RemoteVersions) {
    this.#registry = registry;
    this.#remote = remote;
    const forget = (): void => {
      this.#known = undefined;
    };
    registry.onChange(forget);
    remote?.onChange(forget);
  }

  /** Named groups; the core group is served below /api. */
  get groups(): readonly GroupVersions[] {
    return this.#view.groups.filter(({ group }) => group !== "");
  }

  groupVersions(): readonly GroupVersion[] {
    const { groups, remote, resources } = this.#view;
    const builtIn = new Set<string>();
    for (const { kind } of resources) if (kind.custom === undefined) builtIn.add(versionOf(kind));
    return groups.flatMap(({ group, versions }) =>
      versions.map((version) => {
        const id = `${group}/${version}`;
        return { group, version, isBuiltIn: builtIn.has(id) && !remote.has(id) };
      }),
    );
  }

  /** /api: the core group's versions and where to reach the server. */
  coreVersions(serverAddress: string): ApiValue {
    return {
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
    } as ApiValue;
  }

  /** /apis */
  groupList(): ApiValue {
    const groups = this.groups.map((group) => groupOf(group));
    return { kind: "APIGroupList", apiVersion: "v1", groups } as ApiValue;
  }

  /** /apis/GROUP */
  group(name: string): ApiValue | undefined {
    const found = this.groups.find(({ group }) => group === name);
    return found && ({ kind: "APIGroup", apiVersion: "v1", ...groupOf(found) } as ApiValue);
  }

  /** /api/v1, /apis/GROUP/VERSION */
  resourceList(group: string, version: string): ApiValue | undefined {
    const served = this.#of(group, version);
    if (served.length === 0) return undefined;
    return {
      kind: "APIResourceList",
      ...(group === "" ? {} : { apiVersion: "v1" }),
      groupVersion: apiVersionOf(group, version),
      resources: served.flatMap(resourceEntries),
    } as ApiValue;
  }

  /** The aggregated document of /api (`core`) or /apis, and what it has in it as a number. */
  aggregated(core: boolean): Hashed {
    const { aggregated } = this.#view;
    const known = aggregated.get(core);
    if (known !== undefined) return known;
    const value = this.#aggregate(core);
    const hash = createHash("sha512").update(JSON.stringify(value)).digest("hex").toUpperCase();
    aggregated.set(core, { value, hash });
    return { value, hash };
  }

  get #view(): View {
    this.#known ??= viewOf(this.#registry.served(), this.#remote?.versions() ?? []);
    return this.#known;
  }

  #aggregate(core: boolean): ApiValue {
    const groups = this.#view.groups.filter(({ group }) => (group === "") === core);
    return {
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: groups.map(({ group, versions }) => ({
        metadata: group === "" ? {} : { name: group },
        versions: versions.map((one) => this.#aggregatedVersion(group, one)),
      })),
    } as ApiValue;
  }

  #aggregatedVersion(group: string, version: string) {
    const remote = this.#view.remote.get(`${group}/${version}`);
    if (remote !== undefined) {
      const { resources, freshness } = remote;
      return { version, ...(resources.length === 0 ? {} : { resources }), freshness };
    }
    return {
      version,
      resources: this.#of(group, version).map(aggregatedEntry),
      freshness: "Current",
    };
  }

  #of(group: string, version: string): readonly ServedResource[] {
    return this.#view.resources.filter(
      ({ kind }) => kind.group === group && kind.version === version,
    );
  }
}

function groupOf({ group, versions }: GroupVersions): Record<string, unknown> {
  const listed = versions.map((version) => ({
    groupVersion: apiVersionOf(group, version),
    version,
  }));
  return { name: group, versions: listed, preferredVersion: listed[0] };
}

function resourceEntries(resource: ServedResource): Record<string, unknown>[] {
  const { kind } = resource;
  const { plural, singular, short, categories } = kind.names;
  const namespaced = kind.scope === "Namespaced";
  const hash = storageVersionHash(resource);
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind: kind.names.kind,
      verbs: kind.verbs,
      ...(short.length === 0 ? {} : { shortNames: short }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(hash === undefined ? {} : { storageVersionHash: hash }),
    },
    ...subresourcesOf(resource).map(({ name, verbs, kind: sub }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...(sub.group === "" ? {} : { group: sub.group }),
      ...(sub.version === "" ? {} : { version: sub.version }),
      kind: sub.kind,
      verbs,
    })),
  ];
}

function aggregatedEntry(resource: ServedResource): Record<string, unknown> {
  const { kind } = resource;
  const { plural, singular, short, categories } = kind.names;
  const subresources = subresourcesOf(resource).map(({ name, verbs, kind: sub }) => ({
    subresource: name,
    responseKind: responseKindOf(kind, sub),
    verbs,
  }));
  return {
    resource: plural,
    responseKind: responseKindOf(kind, { group: "", version: "", kind: kind.names.kind }),
    scope: kind.scope,
    singularResource: singular,
    verbs: kind.verbs,
    ...(short.length === 0 ? {} : { shortNames: short }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Only custom resources say the group and version of what they answer with. */
function responseKindOf(
  { custom, group, version }: Kind,
  answered: SubresourceRoute["kind"],
): SubresourceRoute["kind"] {
  return custom && answered.version === "" ? { group, version, kind: answered.kind } : answered;
}

/** Equal if two servers store a resource in the same version; undefined for reviews, which are not stored. */
function storageVersionHash({ kind, stored }: ServedResource): string | undefined {
  if (!kind.verbs.includes("update")) return undefined;
  const { kind: one } = stored;
  const name = `${stored.group}/${one.storageVersion ?? one.version}/${one.names.kind}`;
  return createHash("sha256").update(name).digest().subarray(0, 8).toString("base64");
}

function viewOf(served: Iterable<ServedResource>, remote: readonly RemoteVersion[]): View {
  const resources = [...served].sort((a, b) => byText(a.kind.names.plural, b.kind.names.plural));
  const elsewhere = new Map(remote.map((one) => [`${one.group}/${one.version}`, one]));
  const versions = new Map<string, Set<string>>();
  const add = (group: string, version: string): void =>
    void versions.set(group, (versions.get(group) ?? new Set()).add(version));
  for (const { kind } of resources) add(kind.group, kind.version);
  for (const { group, version } of remote) add(group, version);
  const priorityOf = (group: string, version: string): number =>
    elsewhere.get(`${group}/${version}`)?.versionPriority ?? CUSTOM_PRIORITIES.versionPriority;
  const groups = [...versions].map(([group, all]) => ({
    group,
    rank: rankOf(group, [...all], elsewhere),
    versions: [...all].sort(
      (a, b) => priorityOf(group, b) - priorityOf(group, a) || byPriority(a, b),
    ),
  }));
  groups.sort((a, b) => b.rank - a.rank || byText(a.group, b.group));
  return { resources, groups, aggregated: new Map(), remote: elsewhere };
}

function apiVersionOf(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** The highest of the priorities that its versions give it. */
function rankOf(
  group: string,
  versions: readonly string[],
  remote: ReadonlyMap<string, RemoteVersion>,
): number {
  if (group === "apiregistration.k8s.io") return Number.POSITIVE_INFINITY;
  const own = builtInGroupPriority(group) ?? CUSTOM_PRIORITIES.groupPriorityMinimum;
  return Math.max(
    ...versions.map((version) => remote.get(`${group}/${version}`)?.groupPriority ?? own),
  );
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** v2 before v1 before v1beta1 before v1alpha1. */
function byPriority(a: string, b: string): number {
  const parse = (version: string): [stage: number, major: number, minor: number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const stage = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [x, y] = [parse(a), parse(b)];
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2] || byText(a, b);
}

/** Whether a version is served without being asked for. */
export function isStable({ version }: Kind): boolean {
  return /^v\d+$/.test(version);
}

function versionOf({ group, version }: Kind): string {
  return `${group}/${version}`;
}
