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
import type { AdmissionVerdict } from "#kubelet/decide/node/admit-pod.ts";
import { deviceCandidates, pickDevices } from "#kubelet/decide/pick-devices.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
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
  /** Capacity or allocatable changed. */
  onChange(): void;
}

interface Resource {
  plugin: DevicePlugin | undefined;
  devices: readonly PluginDevice[];
  /** Since when the plug-in is away. */
  goneMs: number;
}

export class DeviceManager {
  readonly #options: DeviceManagerOptions;
  readonly #resources = new Map<string, Resource>();
  readonly #turns = new KeyedTurns();
  #allocations: readonly DeviceAllocation[] = [];

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
    await runRegistrationServer(this.#options.folder, (request) => this.#register(request), signal);
  }

  capacity(): Readonly<Record<string, string>> {
    return this.#amounts(() => true);
  }

  allocatable(): Readonly<Record<string, string>> {
    return this.#amounts(({ health }) => health === HEALTHY);
  }

  async admit(pod: Pod): Promise<AdmissionVerdict> {
    const wants = containersOf(pod).some((one) => this.#requests(one).length > 0);
    if (!wants) return { admitted: true };
    return this.#turns.run("", async () => {
      try {
        await this.#allocatePod(pod);
        return { admitted: true };
      } catch (error) {
        this.#drop(pod.metadata.uid ?? "");
        const message = `Allocate failed due to ${messageOf(error)}, which is unexpected`;
        return { admitted: false, reason: "UnexpectedAdmissionError", message };
      }
    });
  }

  /** What the container gets; its plug-ins are told that it starts. */
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

  async #allocatePod(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    const init = pod.spec.initContainers ?? [];
    const reusable = new Map<string, string[]>();
    for (const container of containersOf(pod)) {
      for (const [resource, count] of this.#requests(container)) {
        const from = reusable.get(resource) ?? [];
        const { deviceIds, response } = await this.#allocate(resource, count, from);
        const allocation = { podUid: uid, container: container.name, resource };
        this.#allocations = [...this.#allocations, { ...allocation, deviceIds, response }];
        // Devices of an init container are free again when the next container starts.
        const ends = init.some((one) => one === container && one.restartPolicy !== "Always");
        const others = from.filter((id) => !deviceIds.includes(id));
        reusable.set(resource, ends ? [...others, ...deviceIds] : others);
      }
    }
    await this.#save();
  }

  async #allocate(name: string, count: number, reusable: readonly string[]) {
    const { plugin, devices } = this.#resources.get(name) ?? { devices: [] };
    const healthy = devices.filter(({ health }) => health === HEALTHY).map(({ id }) => id);
    const own = this.#allocations.filter(({ resource }) => resource === name);
    const taken = new Set(own.flatMap(({ deviceIds }) => deviceIds));
    const candidates = deviceCandidates({ resource: name, count, healthy, taken, reusable });
    if (!candidates.ok) throw new Error(candidates.message);
    if (plugin === undefined) throw new Error(`unknown Device Plugin ${name}`);
    const { available, mustInclude } = candidates;
    const preferred = await plugin.preferred(available, mustInclude, count);
    const deviceIds = pickDevices(count, mustInclude, available, preferred);
    return { deviceIds, response: await plugin.allocate(deviceIds) };
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

function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
}
