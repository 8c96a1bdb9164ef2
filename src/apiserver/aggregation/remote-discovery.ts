/**
 * The discovery documents of other API servers, as far as they are known.
 *
 * Promises:
 * 1. A document is fetched when an APIService appears or changes (its availability too), and again every
 *    REFRESH_MS, or after growing waits while its server does not answer. Requests never wait for it.
 * 2. A version whose server does not answer is listed as Stale, with the resources that were last known.
 */

import { onAbort } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import { Emitter } from "#lib/events.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { HttpsAnswer, HttpsCaller } from "../webhook/https-caller.ts";
import type { RemoteApi, RemoteApis } from "./remote-apis.ts";
import { AGGREGATOR, userHeaders } from "./user-headers.ts";

export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Entries of the aggregated document. */
  readonly resources: readonly unknown[];
  readonly freshness: "Current" | "Stale";
}

export interface RemoteDiscoveryOptions {
  readonly apis: RemoteApis;
  readonly caller: HttpsCaller;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const REFRESH_MS = 60_000;
const TIMEOUT_MS = 5_000;
const RETRY = { baseMs: 500, capMs: REFRESH_MS } as const;
/** Limit of one document, which is parsed as a whole. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const ACCEPT = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");

interface Known {
  readonly backoff: Backoff;
  resources: readonly unknown[];
  freshness: RemoteVersion["freshness"];
  timer: Timer | undefined;
  isFetching: boolean;
}

export class RemoteDiscovery {
  readonly #options: RemoteDiscoveryOptions;
  /** By the name of the APIService. */
  readonly #known = new Map<string, Known>();
  readonly #changes = new Emitter<{ change: undefined }>();
  #signal: AbortSignal = AbortSignal.abort();

  constructor(options: RemoteDiscoveryOptions) {
    this.#options = options;
    options.apis.onChange(({ next, old }) => {
      if (next !== undefined) this.#fetchSoon(next.name, old?.isAvailable !== next.isAvailable);
      else if (old !== undefined) this.#forget(old.name);
      this.#changes.emit("change", undefined);
    });
  }

  /** Until the signal aborts. */
  start(signal: AbortSignal): void {
    this.#signal = signal;
    onAbort(signal, () => {
      for (const { timer } of this.#known.values()) timer?.cancel();
    });
    for (const { name } of this.#options.apis.all()) this.#fetchSoon(name, true);
  }

  onChange(listener: () => void): void {
    this.#changes.on("change", listener);
  }

  versions(): readonly RemoteVersion[] {
    return [...this.#options.apis.all()].map(
      ({ name, group, version, groupPriority, versionPriority }) => {
        const { resources = [], freshness = "Stale" } = this.#known.get(name) ?? {};
        return { group, version, groupPriority, versionPriority, resources, freshness };
      },
    );
  }

  #forget(name: string): void {
    this.#known.get(name)?.timer?.cancel();
    this.#known.delete(name);
  }

  #fetchSoon(name: string, isChanged: boolean): void {
    const { clock, random } = this.#options;
    const known = this.#known.get(name) ?? {
      backoff: new Backoff({ ...RETRY, random }),
      resources: [],
      freshness: "Stale" as const,
      timer: undefined,
      isFetching: false,
    };
    this.#known.set(name, known);
    if (this.#signal.aborted || (!isChanged && known.timer !== undefined)) return;
    known.backoff.reset();
    known.timer?.cancel();
    known.timer = clock.schedule(0, () => void this.#fetch(name, known));
  }

  async #fetch(name: string, known: Known): Promise<void> {
    const { apis, clock, logger } = this.#options;
    const api = apis.get(name);
    if (api === undefined || known.isFetching) return;
    known.isFetching = true;
    let waitMs = REFRESH_MS;
    try {
      if (!api.isAvailable) throw new Error("service unavailable");
      known.resources = await this.#resourcesOf(api);
      known.freshness = "Current";
      known.backoff.reset();
    } catch (error) {
      known.freshness = "Stale";
      waitMs = known.backoff.nextMs();
      logger.debug("discovery of an APIService failed", { name, why: messageOf(error) });
    } finally {
      known.isFetching = false;
    }
    if (this.#signal.aborted || this.#known.get(name) !== known) return;
    known.timer = clock.schedule(waitMs, () => void this.#fetch(name, known));
    this.#changes.emit("change", undefined);
  }

  async #resourcesOf(api: RemoteApi): Promise<readonly unknown[]> {
    const all = await this.#get(api, "/apis", ACCEPT);
    const type = String(all.headers["content-type"] ?? "");
    if (all.code === 200 && type.includes("as=APIGroupDiscoveryList")) {
      return resourcesIn(JSON.parse(all.body.toString()), api);
    }
    // An older server has one document for each group version.
    const path = `/apis/${api.group}/${api.version}`;
    const list = await this.#get(api, path, "application/json");
    if (list.code !== 200) throw new Error(`failed to download legacy discovery for ${path}`);
    return resourcesInList(JSON.parse(list.body.toString()));
  }

  async #get(api: RemoteApi, path: string, accept: string): Promise<HttpsAnswer> {
    const endpoint = this.#options.apis.endpointOf(api);
    if (!endpoint.ok) throw new Error(endpoint.status.message);
    return await this.#options.caller.call({
      endpoint: endpoint.value,
      method: "GET",
      path,
      headers: { ...userHeaders(AGGREGATOR), accept },
      timeoutMs: TIMEOUT_MS,
      answerBytesMax: ANSWER_BYTES_MAX,
      signal: this.#signal,
    });
  }
}

interface GroupDiscoveryList {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version?: string; readonly resources?: unknown[] }[];
  }[];
}

function resourcesIn(document: GroupDiscoveryList, api: RemoteApi): readonly unknown[] {
  const group = document.items?.find(({ metadata }) => metadata?.name === api.group);
  return group?.versions?.find(({ version }) => version === api.version)?.resources ?? [];
}

interface LegacyResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** An APIResourceList in the form of the aggregated document. */
function resourcesInList({
  resources = [],
}: {
  readonly resources?: readonly LegacyResource[];
}): readonly unknown[] {
  const kindOf = ({ group = "", version = "", kind }: LegacyResource) => ({ group, version, kind });
  const parents = resources.filter(({ name }) => !name.includes("/"));
  return parents.map((resource) => {
    const { name, singularName = "", namespaced, verbs = [], shortNames, categories } = resource;
    const parts = resources.filter((one) => one.name.startsWith(`${name}/`));
    const subresources = parts.map((part) => ({
      subresource: part.name.slice(name.length + 1),
      responseKind: kindOf(part),
      verbs: part.verbs ?? [],
    }));
    return {
      resource: name,
      responseKind: kindOf(resource),
      scope: namespaced ? "Namespaced" : "Cluster",
      singularResource: singularName,
      verbs,
      ...(shortNames === undefined ? {} : { shortNames }),
      ...(categories === undefined ? {} : { categories }),
      ...(subresources.length === 0 ? {} : { subresources }),
    };
  });
}
