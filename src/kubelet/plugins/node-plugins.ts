/** The parts of the kubelet that plug-ins extend, wired together: storage drivers, device plug-ins and DRA drivers. */
import { join } from "node:path";
import type { Client } from "#client/client.ts";
import { CsiDrivers } from "#kubelet/csi/csi-drivers.ts";
import { CsiNodeDirectory } from "#kubelet/csi/csi-node-directory.ts";
import { uniqueVolumeName } from "#kubelet/csi/csi-requests.ts";
import { createCsiVolumePlugin } from "#kubelet/csi/csi-volume-plugin.ts";
import { listVolumeData } from "#kubelet/csi/volume-data.ts";
import type { VolumesInUse } from "#kubelet/csi/volumes-in-use.ts";
import { DeviceManager } from "#kubelet/devices/device-manager.ts";
import { DraManager } from "#kubelet/dra/dra-manager.ts";
import { DraPlugins } from "#kubelet/dra/dra-plugins.ts";
import type { PluginMetrics } from "#kubelet/node/plugin-metrics.ts";
import type { VolumePlugin } from "#kubelet/volumes/volume-plugin.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { PluginWatcher } from "./plugin-watcher.ts";

export interface NodePluginsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodeName: string;
  readonly root: string;
  readonly inUse: VolumesInUse;
  readonly metrics: PluginMetrics;
  /** A plug-in was registered: pods that failed without it may be tried again. */
  onRegistered(): void;
  /** Capacity or allocatable of the node changed. */
  onAmounts(): void;
}

export interface NodePlugins {
  readonly volumes: readonly VolumePlugin[];
  readonly devices: DeviceManager;
  readonly dra: DraManager;
  /** Before any pod is admitted: what was allocated before the kubelet started. */
  load(): Promise<void>;
  /** After the node is registered. Resolves when plug-ins can register. */
  run(signal: AbortSignal): Promise<void>;
}

export function createNodePlugins(options: NodePluginsOptions): NodePlugins {
  const { client, clock, random, logger, nodeName, root, inUse, onRegistered } = options;
  const csiNode = new CsiNodeDirectory(client, nodeName);
  const drivers = new CsiDrivers(csiNode, onRegistered);
  const { metrics } = options;
  const draPlugins = new DraPlugins(onRegistered, metrics);
  const dra = new DraManager({ client, plugins: draPlugins, root, metrics });
  metrics.countClaims(() => dra.claimsInUse());
  const watcher = new PluginWatcher({
    folder: join(root, "plugins_registry"),
    handlers: { CSIPlugin: drivers, DRAPlugin: draPlugins },
    ...{ clock, random, logger },
  });
  const devices = new DeviceManager({
    folder: join(root, "device-plugins"),
    ...{ clock, logger, onChange: options.onAmounts, metrics },
  });
  return {
    devices,
    dra,
    async load() {
      await Promise.all([devices.load(), dra.load()]);
    },
    volumes: [createCsiVolumePlugin({ drivers, inUse, nodeName, root })],
    async run(signal) {
      onAbort(signal, () => {
        drivers[Symbol.dispose]();
        draPlugins[Symbol.dispose]();
      });
      for (const { driverName, volumeHandle, volumeLifecycleMode } of await listVolumeData(root)) {
        if (volumeLifecycleMode === "Persistent") {
          inUse.add(uniqueVolumeName(driverName, volumeHandle));
        }
      }
      csiNode.ensure().catch((error: unknown) => {
        if (!signal.aborted) logger.warn("the CSINode was not written", { why: messageOf(error) });
      });
      await watcher.run(signal);
      await devices.run(signal);
    },
  };
}
