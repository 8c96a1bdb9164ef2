/**
 * Devices of plug-ins: what the node has of each resource, and which containers have which.
 *
 * Promises:
 * 1. A device is allocated to one pod at a time, from admission until the pod is gone. App
 *    containers use the devices of the pod's init containers again.
 * 2. Allocations are on the disk before a pod is admitted and survive a restart of the kubelet.
 * 3. The devices of a plug-in that is gone count as unhealthy; after GONE_MS the resource is zero.
 */
import { join } from "node:path";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import {
  byAffinity,
  type DeviceNodes,
  deviceHints,
  hasTopology,
} from "#kubelet/decide/resources/device-hints.ts";
import { hasNode, type NumaMask } from "#kubelet/decide/resources/numa-mask.ts";
import { deviceCandidates, pickDevices } from "#kubelet/decide/resources/pick-devices.ts";
import type { ProviderHints, TopologyHint } from "#kubelet/decide/resources/topology-hints.ts";
import { isSidecar } from "#kubelet/decide/restart.ts";
import type { PluginMetrics } from "#kubelet/node/plugin-metrics.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import type { KnownDevice } from "#kubelet/podresources/pod-resources.ts";
import { containersOf, type HintProvider } from "#kubelet/resources/hint-provider.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type DeviceAllocation, readDeviceState, writeDeviceState } from "./device-checkpoint.ts";
import {
  type ContainerAllocateResponse,
  HEALTHY,
  type PluginDevice,
  type RegisterRequest,
} from "./device-messages.ts";
import { DevicePlugin } from "./device-plugin.ts";
import { runRegistrationServer } from "./registration-server.ts";

/** How long a plug-in may be away before its resource is gone. */
const GONE_MS = 300_000;

export interface DeviceManagerOptions {
  /** `/var/lib/kubelet/device-plugins` */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<PluginMetrics, "deviceRegistration" | "deviceAllocation">;
  /** Capacity or allocatable changed. */
  onChange(): void;
}

interface Resource {
  plugin: DevicePlugin | undefined;
  devices: readonly PluginDevice[];
  /** Since when the plug-in is away. */
  goneMs: number;
}

export class DeviceManager implements HintProvider {
  readonly #options: DeviceManagerOptions;
  readonly #resources = new Map<string, Resource>();
  readonly #turns = new KeyedTurns();
  #allocations: readonly DeviceAllocation[] = [];
  #numaNodes: readonly number[] = [0];
  /** Devices of init containers of the pod that is being admitted, by resource. */
  #reusable: { readonly uid: string; readonly devices: ReadonlyMap<string, readonly string[]> } = {
    uid: "",
    devices: new Map(),
  };

  constructor(options: DeviceManagerOptions) {
    this.#options = options;
  }

  /** Before any pod is admitted. */
  async load(): Promise<void> {
    const { folder, clock } = this.#options;
    const { allocations, resources } = await readDeviceState(folder);
    this.#allocations = allocations;
    const goneMs = clock.elapsedMs();
    for (const name of resources) {
      this.#resources.set(name, { plugin: undefined, devices: [], goneMs });
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    onAbort(signal, () => {
      for (const { plugin } of this.#resources.values()) plugin?.[Symbol.dispose]();
    });
    const { folder, metrics } = this.#options;
    await runRegistrationServer(
      folder,
      {
        onRequest: ({ resourceName }) => metrics.deviceRegistration(resourceName),
        register: (request) => this.#register(request),
      },
      signal,
    );
  }

  /** Devices of a container, for the pod resources API. */
  devicesOf(uid: string, container: string): readonly KnownDevice[] {
    const own = this.#allocations.filter(
      (one) => one.podUid === uid && one.container === container,
    );
    return own.flatMap(({ resource, deviceIds }) => {
      const known = this.#resources.get(resource)?.devices ?? [];
      return deviceIds.map((id) => ({
        ...{ resource, id },
        numaNodes: numaNodesOf(known.find((one) => one.id === id)),
      }));
    });
  }

  /** Whether they are allocated or not. */
  healthyDevices(): readonly KnownDevice[] {
    return [...this.#resources].flatMap(([resource, { devices }]) =>
      devices
        .filter(({ health }) => health === HEALTHY)
        .map((one) => ({ resource, id: one.id, numaNodes: numaNodesOf(one) })),
    );
  }

  capacity(): Readonly<Record<string, string>> {
    return this.#amounts(() => true);
  }

  allocatable(): Readonly<Record<string, string>> {
    return this.#amounts(({ health }) => health === HEALTHY);
  }

  /** Of the machine. */
  setNumaNodes(nodes: readonly number[]): void {
    this.#numaNodes = nodes;
  }

  concerns(pod: Pod): boolean {
    return containersOf(pod).some((one) => this.#requests(one).length > 0);
  }

  containerHints(pod: Pod, container: Container): ProviderHints {
    const uid = pod.metadata.uid ?? "";
    const hints = this.#requests(container).map(([resource, count]) => {
      const own = this.#allocations.filter(
        (one) =>
          one.podUid === uid && one.container === container.name && one.resource === resource,
      );
      const reusable = this.#reusableOf(uid).get(resource) ?? [];
      return [resource, this.#hints(resource, count, own, reusable)] as const;
    });
    return new Map(hints);
  }

  podHints(pod: Pod): ProviderHints {
    const uid = pod.metadata.uid ?? "";
    const names = new Set(
      containersOf(pod)
        .flatMap((one) => this.#requests(one))
        .map(([n]) => n),
    );
    const hints = [...names].map((resource) => {
      const countOf = (container: Container): number =>
        this.#requests(container).find(([name]) => name === resource)?.[1] ?? 0;
      const own = this.#allocations.filter(
        (one) => one.podUid === uid && one.resource === resource,
      );
      return [resource, this.#hints(resource, mostAtOnce(pod, countOf), own, [])] as const;
    });
    return new Map(hints);
  }

  async allocate(pod: Pod, container: Container, { affinity }: TopologyHint): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    const ends = (pod.spec.initContainers ?? []).includes(container) && !isSidecar(container);
    for (const [resource, count] of this.#requests(container)) {
      const from = this.#reusableOf(uid).get(resource) ?? [];
      const { deviceIds, response } = await this.#allocate(resource, count, from, affinity);
      const allocation = { podUid: uid, container: container.name, resource };
      this.#allocations = [...this.#allocations, { ...allocation, deviceIds, response }];
      // Devices of an init container are free again when the next container starts.
      const others = from.filter((id) => !deviceIds.includes(id));
      const reusable = ends ? [...others, ...deviceIds] : others;
      const devices = new Map(this.#reusableOf(uid)).set(resource, reusable);
      this.#reusable = { uid, devices };
    }
  }

  commit(): Promise<void> {
    return this.#turns.run("", () => this.#save());
  }

  /** The allocation responses for the container; calls PreStartContainer of its plug-ins. */
  async start(uid: string, container: string): Promise<readonly ContainerAllocateResponse[]> {
    const own = this.#allocations.filter(
      (one) => one.podUid === uid && one.container === container,
    );
    for (const { resource, deviceIds } of own) {
      await this.#resources.get(resource)?.plugin?.preStart(deviceIds);
    }
    return own.map(({ response }) => response);
  }

  forget(uid: string): void {
    if (!this.#drop(uid)) return;
    const { logger } = this.#options;
    this.#turns
      .run("", () => this.#save())
      .catch((error: unknown) =>
        logger.warn("device allocations were not written", { why: messageOf(error) }),
      );
  }

  forgetOthers(hasPod: (uid: string) => boolean): void {
    for (const uid of new Set(this.#allocations.map(({ podUid }) => podUid))) {
      if (!hasPod(uid)) this.forget(uid);
    }
  }

  async #register({ resourceName, endpoint }: RegisterRequest): Promise<void> {
    const { folder, clock, logger, onChange } = this.#options;
    const plugin = new DevicePlugin(join(folder, endpoint));
    const resource: Resource = { plugin, devices: [], goneMs: Number.POSITIVE_INFINITY };
    // The plug-in may wait for the answer before it serves: it is called afterwards.
    clock.schedule(0, () => {
      plugin
        .start({
          onDevices: (devices) => {
            if (this.#resources.get(resourceName) !== resource) return;
            resource.devices = devices;
            onChange();
          },
          onEnd: (why) => this.#end(resourceName, resource, why),
        })
        .catch((error: unknown) => this.#end(resourceName, resource, messageOf(error)));
    });
    this.#resources.get(resourceName)?.plugin?.[Symbol.dispose]();
    this.#resources.set(resourceName, resource);
    logger.info("a device plug-in is registered", { resource: resourceName });
    await this.#turns.run("", () => this.#save());
  }

  #end(name: string, resource: Resource, why: string): void {
    resource.plugin?.[Symbol.dispose]();
    if (this.#resources.get(name) !== resource) return;
    const { clock, logger, onChange } = this.#options;
    logger.warn("a device plug-in is gone", { resource: name, why });
    resource.plugin = undefined;
    resource.goneMs = clock.elapsedMs();
    resource.devices = resource.devices.map((one) => ({ ...one, health: "Unhealthy" }));
    onChange();
  }

  #amounts(counts: (device: PluginDevice) => boolean): Record<string, string> {
    const nowMs = this.#options.clock.elapsedMs();
    return Object.fromEntries(
      [...this.#resources].map(([name, { devices, goneMs }]) => {
        const isGone = nowMs - goneMs >= GONE_MS;
        return [name, isGone ? "0" : String(devices.filter(counts).length)];
      }),
    );
  }

  async #allocate(
    name: string,
    count: number,
    reusable: readonly string[],
    affinity: NumaMask | undefined,
  ) {
    const { plugin, devices } = this.#resources.get(name) ?? { devices: [] };
    const healthy = devices.filter(({ health }) => health === HEALTHY).map(({ id }) => id);
    const taken = this.#taken(name);
    const candidates = deviceCandidates({ resource: name, count, healthy, taken, reusable });
    if (!candidates.ok) throw new Error(candidates.message);
    if (plugin === undefined) throw new Error(`unknown Device Plugin ${name}`);
    const { available, mustInclude } = alignedCandidates(
      nodesOfDevices(devices),
      candidates.available,
      candidates.mustInclude,
      count,
      affinity,
    );
    const preferred = await plugin.preferred(available, mustInclude, count);
    const deviceIds = pickDevices(count, mustInclude, available, preferred);
    const response = await this.#options.metrics.deviceAllocation(name, () =>
      plugin.allocate(deviceIds),
    );
    return { deviceIds, response };
  }

  #hints(
    resource: string,
    count: number,
    own: readonly DeviceAllocation[],
    reusable: readonly string[],
  ): readonly TopologyHint[] | undefined {
    const { devices } = this.#resources.get(resource) ?? { devices: [] };
    const nodes = nodesOfDevices(devices);
    if (!hasTopology(nodes)) return undefined;
    const has = own.flatMap(({ deviceIds }) => deviceIds);
    if (has.length > 0) {
      return has.length === count ? deviceHints(nodes, this.#numaNodes, has, [], count) : [];
    }
    const taken = this.#taken(resource);
    const free = devices
      .filter(({ id, health }) => health === HEALTHY && !taken.has(id))
      .map(({ id }) => id);
    if (new Set([...free, ...reusable]).size < count) return [];
    return deviceHints(nodes, this.#numaNodes, free, reusable, count);
  }

  #taken(name: string): ReadonlySet<string> {
    const own = this.#allocations.filter(({ resource }) => resource === name);
    return new Set(own.flatMap(({ deviceIds }) => deviceIds));
  }

  #reusableOf(uid: string): ReadonlyMap<string, readonly string[]> {
    return this.#reusable.uid === uid ? this.#reusable.devices : new Map();
  }

  /** The resources of plug-ins that a container asks for. */
  #requests({ resources }: Container): [string, number][] {
    return Object.entries(resources?.limits ?? {})
      .filter(([name]) => this.#resources.has(name))
      .map(([name, amount]): [string, number] => [name, quantityValue(quantityOf(amount))])
      .filter(([, count]) => count > 0);
  }

  #drop(uid: string): boolean {
    const before = this.#allocations.length;
    this.#allocations = this.#allocations.filter(({ podUid }) => podUid !== uid);
    return this.#allocations.length < before;
  }

  #save(): Promise<void> {
    const resources = [...this.#resources.keys()];
    return writeDeviceState(this.#options.folder, { allocations: this.#allocations, resources });
  }
}

function numaNodesOf(device: PluginDevice | undefined): readonly number[] | undefined {
  return device?.topology?.nodes.map(({ id }) => id);
}

function nodesOfDevices(devices: readonly PluginDevice[]): DeviceNodes {
  return new Map(
    devices.map(({ id, topology }) => [id, (topology?.nodes ?? []).map((node) => node.id)]),
  );
}

/** Devices near the hint come first; a plug-in's preference counts among equals only. */
function alignedCandidates(
  nodes: DeviceNodes,
  available: readonly string[],
  mustInclude: readonly string[],
  count: number,
  affinity: NumaMask | undefined,
): { readonly available: readonly string[]; readonly mustInclude: readonly string[] } {
  if (affinity === undefined || !hasTopology(nodes)) return { available, mustInclude };
  const isNear = (id: string): boolean =>
    (nodes.get(id) ?? []).some((node) => hasNode(affinity, node));
  const near = available.filter((id) => mustInclude.includes(id) || isNear(id));
  if (near.length >= count) return { available: near, mustInclude };
  return { available: byAffinity(nodes, available, affinity), mustInclude: near };
}

/** The most that the pod has at any moment. */
function mostAtOnce({ spec }: Pod, countOf: (container: Container) => number): number {
  let [byInit, bySidecars] = [0, 0];
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) bySidecars += countOf(container);
    else byInit = Math.max(byInit, bySidecars + countOf(container));
  }
  const byApp = (spec.containers ?? []).reduce((sum, one) => sum + countOf(one), 0);
  return Math.max(byInit, byApp + bySidecars);
}
