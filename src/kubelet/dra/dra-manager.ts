/**
 * Dynamic resource allocation on the node: drivers prepare the ResourceClaims of pods before their
 * containers start, and release them when the last pod of the node that uses them has ended.
 *
 * Promises:
 * 1. A claim is on the disk before a driver prepares it, so that a kubelet that starts anew
 *    unprepares it too.
 * 2. A claim whose preparation succeeded is not prepared again, nor read again for the same pod: its
 *    containers start again while the API server is away.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import type { Client } from "#client/client.ts";
import {
  containerCdiDevices,
  driversOf,
  podClaims,
  whyNotClaim,
} from "#kubelet/decide/pod-claims.ts";
import type { PluginMetrics } from "#kubelet/node/plugin-metrics.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import type { DynamicResource } from "#kubelet/podresources/pod-resources-messages.ts";
import type { DraPlugins } from "./dra-plugins.ts";
import { type PreparedClaim, readDraState, writeDraState } from "./dra-state.ts";

export interface DraManagerOptions {
  readonly client: Client;
  readonly plugins: Pick<DraPlugins, "prepare" | "unprepare">;
  /** `/var/lib/kubelet` */
  readonly root: string;
  readonly metrics: Pick<PluginMetrics, "draOperation">;
}

/** Upstream's label for claims of all drivers. */
const ANY_DRIVER = "<any>";

export class DraManager {
  readonly #options: DraManagerOptions;
  readonly #turns = new KeyedTurns();
  readonly #claims = new Map<string, PreparedClaim>();

  constructor(options: DraManagerOptions) {
    this.#options = options;
  }

  async load(): Promise<void> {
    for (const claim of await readDraState(this.#options.root)) this.#claims.set(claim.uid, claim);
  }

  /** Resolves when every claim of the pod is prepared. */
  prepare(pod: Pod): Promise<void> {
    return this.#options.metrics.draOperation("PrepareResources", () => this.#prepare(pod));
  }

  async #prepare(pod: Pod): Promise<void> {
    if ((pod.spec.resourceClaims ?? []).length === 0) return;
    await this.#turns.run("", async () => {
      for (const { claimName } of podClaims(pod)) {
        if (claimName !== undefined) await this.#prepareClaim(pod, claimName);
      }
    });
  }

  /** Of claims that were prepared. */
  cdiDevices(pod: Pod, container: Container): readonly string[] {
    if ((container.resources?.claims ?? []).length === 0) return [];
    const devices = podClaims(pod).map(({ name, claimName }) => {
      const claim = this.#claimOf(pod, claimName);
      return [name, Object.values(claim?.devices ?? {}).flat()] as const;
    });
    return containerCdiDevices(container, new Map(devices));
  }

  /** What drivers have prepared for a container, for the pod resources API. */
  dynamicResources(pod: Pod, container: Container): readonly DynamicResource[] {
    const names = new Set((container.resources?.claims ?? []).map(({ name }) => name));
    const inUse = (pod.spec.resourceClaims ?? []).filter(({ name }) => names.has(name));
    const statuses = pod.status?.resourceClaimStatuses ?? [];
    return inUse.flatMap(({ name, resourceClaimName }) => {
      const made = statuses.find((one) => one.name === name)?.resourceClaimName;
      const claim = this.#claimOf(pod, resourceClaimName ?? made);
      if (claim === undefined) return [];
      const claimResources = Object.entries(claim.devices).flatMap(([driverName, devices]) =>
        devices.map(({ poolName, deviceName, cdiDeviceIds }) => ({
          ...{ driverName, poolName, deviceName },
          cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
        })),
      );
      return [{ claimName: claim.name, claimNamespace: claim.namespace, claimResources }];
    });
  }

  /** After the pod's containers have ended. */
  unprepare(podUid: string): Promise<void> {
    return this.#options.metrics.draOperation("UnprepareResources", () => this.#unprepare(podUid));
  }

  /** Prepared claims by driver, and of all drivers. */
  claimsInUse(): ReadonlyMap<string, number> {
    const prepared = [...this.#claims.values()].filter(isPrepared);
    const counts = new Map([[ANY_DRIVER, prepared.length]]);
    for (const driver of prepared.flatMap(({ drivers }) => drivers)) {
      counts.set(driver, (counts.get(driver) ?? 0) + 1);
    }
    return counts;
  }

  async #unprepare(podUid: string): Promise<void> {
    const isUser = ({ podUids }: PreparedClaim): boolean => podUids.includes(podUid);
    if (![...this.#claims.values()].some(isUser)) return;
    await this.#turns.run("", async () => {
      for (const claim of [...this.#claims.values()].filter(isUser)) {
        const podUids = claim.podUids.filter((uid) => uid !== podUid);
        if (podUids.length > 0) this.#claims.set(claim.uid, { ...claim, podUids });
        else await this.#release(claim);
        await this.#save();
      }
    });
  }

  /** Claims of pods that went while the kubelet did not run. */
  async unprepareOthers(hasPod: (uid: string) => boolean): Promise<void> {
    const uids = new Set([...this.#claims.values()].flatMap(({ podUids }) => podUids));
    for (const uid of uids) if (!hasPod(uid)) await this.unprepare(uid);
  }

  #claimOf({ metadata }: Pod, claimName: string | undefined): PreparedClaim | undefined {
    return [...this.#claims.values()].find(
      ({ namespace, name, podUids }) =>
        namespace === (metadata.namespace ?? "") &&
        name === claimName &&
        podUids.includes(metadata.uid ?? ""),
    );
  }

  async #prepareClaim(pod: Pod, claimName: string): Promise<void> {
    const prepared = this.#claimOf(pod, claimName);
    if (prepared !== undefined && isPrepared(prepared)) return;
    const claim = await this.#read(pod, claimName);
    const { uid = "", namespace = "", name = "" } = claim.metadata;
    const podUid = pod.metadata.uid ?? "";
    const known = this.#claims.get(uid);
    const drivers = driversOf(claim);
    let state: PreparedClaim = {
      ...{ uid, namespace, name, drivers, devices: known?.devices ?? {} },
      podUids: [...new Set([...(known?.podUids ?? []), podUid])],
    };
    if (known === undefined || known.podUids.length < state.podUids.length) {
      this.#claims.set(uid, state);
      await this.#save();
    }
    for (const driver of drivers) {
      if (Object.hasOwn(state.devices, driver)) continue;
      const devices = await this.#options.plugins.prepare(driver, { uid, namespace, name });
      state = { ...state, devices: { ...state.devices, [driver]: devices } };
      this.#claims.set(uid, state);
      await this.#save();
    }
  }

  async #read(pod: Pod, name: string): Promise<ResourceClaim> {
    const namespace = pod.metadata.namespace ?? "";
    const found = await this.#options.client.get(resourceClaimKind, { namespace, name });
    if (!found.ok) {
      throw new Error(`fetch ResourceClaim ${name}: ${found.status.message ?? ""}`);
    }
    const why = whyNotClaim(pod, found.value);
    if (why !== undefined) throw new Error(why);
    return found.value;
  }

  async #release({ uid, namespace, name, drivers }: PreparedClaim): Promise<void> {
    for (const driver of drivers) {
      await this.#options.plugins.unprepare(driver, { uid, namespace, name });
    }
    this.#claims.delete(uid);
  }

  #save(): Promise<void> {
    return writeDraState(this.#options.root, [...this.#claims.values()]);
  }
}

/** By all of its drivers. */
function isPrepared({ drivers, devices }: PreparedClaim): boolean {
  return drivers.every((driver) => Object.hasOwn(devices, driver));
}
