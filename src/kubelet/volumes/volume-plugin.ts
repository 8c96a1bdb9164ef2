/** What a sort of volume must be able to do, and what it may use for it. */
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Volume,
} from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import type { PodPlace } from "#kubelet/decide/inputs/downward-api.ts";
import type { PodCertificates } from "#kubelet/objects/pod-certificates.ts";
import type { PodTokens } from "#kubelet/objects/pod-tokens.ts";
import type { TrustBundles } from "#kubelet/objects/trust-bundles.ts";
import type { WatchedObjects } from "#kubelet/objects/watched-objects.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { VolumeStats } from "./volume-stats.ts";

export interface VolumeTools {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly objects: WatchedObjects;
  readonly tokens: PodTokens;
  readonly trustBundles: TrustBundles;
  readonly certificates: PodCertificates;
  /** The node as the API server has it; undefined before it was read. */
  node(): Node | undefined;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: Volume;
  /** Behind a claim. */
  readonly persistentVolume?: PersistentVolume | undefined;
  readonly claim?: PersistentVolumeClaim | undefined;
  readonly readOnly: boolean;
  /** A folder of its own, below the pod's. It may not be there yet. */
  readonly folder: string;
  readonly place: PodPlace;
}

export interface MountedVolume {
  /** What containers see; a device for block volumes. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  /** When its content should be looked at again, whatever happens, by the clock's `elapsedMs`. */
  readonly refreshAtMs?: number | undefined;
  /** Whether its files are given to the pod's fsGroup; undefined: as is usual for the plug-in. */
  readonly appliesFsGroup?: boolean;
  /** How full it is; for plug-ins that read it from another program. */
  stats?(): Promise<VolumeStats | undefined>;
}

export interface VolumePlugin {
  /** `kubernetes.io/configmap`: also the name of the folder. */
  readonly name: string;
  accepts(request: Pick<VolumeRequest, "volume" | "persistentVolume">): boolean;
  /** Called again on every change: what is in place already stays. */
  setUp(request: VolumeRequest, tools: VolumeTools): Promise<MountedVolume>;
  /** Beyond unmounting and removing the folder, which is done for all. */
  tearDown?(folder: string, tools: VolumeTools): Promise<void>;
  /** The same for a block volume. `path`: below the pod's folder `volumeDevices`. */
  tearDownBlock?(path: string, tools: VolumeTools): Promise<void>;
}

/** What stands in the way of a volume; the message is for an event of the pod. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
  readonly operation: string;

  /** `operation`: upstream's name of the step that failed. */
  constructor(message: string, operation = "MountVolume.SetUp") {
    super(message);
    this.operation = operation;
  }
}

/** Something that others do must happen first, such as attaching. The pod is woken when it has. */
export class VolumePending extends Error {
  override readonly name = "VolumePending";
}
