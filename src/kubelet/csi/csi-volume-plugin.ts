/**
 * kubernetes.io/csi: volumes of CSI drivers, persistent, inline and as block devices.
 *
 * Promises:
 * 1. A volume is staged before it is published, and unstaged when the last pod of the node that had
 *    it is gone. Calls for one volume never overlap.
 * 2. What is needed to take a volume down is on the disk before the driver is called, so that a
 *    kubelet that starts anew cleans up too. It repeats NodeStageVolume and NodePublishVolume for
 *    pods that run, which drivers must allow.
 * 3. A volume whose driver is not registered stays; taking it down fails until the driver is back.
 */
import { mkdir, realpath, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { CSIDriver, VolumeAttachment } from "#api/generated/storage.v1.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { listFolder, removeTree } from "#host/files.ts";
import { isMountPoint } from "#host/mounts.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import { volumeDevicesFolder } from "#kubelet/pods/pod-paths.ts";
import {
  type MountedVolume,
  VolumeError,
  VolumePending,
  type VolumePlugin,
  type VolumeRequest,
  type VolumeTools,
} from "#kubelet/volumes/volume-plugin.ts";
import { codeOf } from "#lib/caught.ts";
import { sha256Hex } from "#lib/text/sha256.ts";
import type { CsiDriver, CsiDrivers } from "./csi-drivers.ts";
import { csiNodeMethods, NODE_CAPABILITY } from "./csi-messages.ts";
import {
  appliesFsGroup,
  attachmentName,
  ephemeralHandle,
  type Lifecycle,
  podInfo,
  uniqueVolumeName,
  volumeCapability,
  whyNotLifecycle,
} from "./csi-requests.ts";
import { expandIfWanted } from "./expand-volume.ts";
import { rpcError } from "./rpc-error.ts";
import { publishSecrets, readSecret } from "./secrets.ts";
import { listVolumeData, readVolumeData, type VolumeData, writeVolumeData } from "./volume-data.ts";
import { csiVolumeStats } from "./volume-stats.ts";
import type { VolumesInUse } from "./volumes-in-use.ts";

const NAME = "kubernetes.io/csi";
/** How often volumes of drivers with `requiresRepublish` are published again, and sizes looked at. */
const REFRESH_MS = 60_000;

export interface CsiVolumeOptions {
  readonly drivers: CsiDrivers;
  readonly inUse: VolumesInUse;
  readonly nodeName: string;
  /** `/var/lib/kubelet` */
  readonly root: string;
}

/** What is the same for every call about one volume of one pod. */
interface CsiVolume {
  readonly driverName: string;
  readonly driver: CsiDriver;
  readonly object: CSIDriver | undefined;
  readonly handle: string;
  readonly specName: string;
  readonly lifecycle: Lifecycle;
  readonly isBlock: boolean;
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Empty without STAGE_UNSTAGE_VOLUME. */
  readonly stagingPath: string;
  readonly targetPath: string;
}

export function createCsiVolumePlugin(options: CsiVolumeOptions): VolumePlugin {
  const turns = new KeyedTurns();
  /** When each volume of a pod was last published, in the life of this kubelet. */
  const published = new Map<string, { readonly result: MountedVolume; readonly dueMs: number }>();
  return {
    name: NAME,
    accepts: ({ volume, persistentVolume }) =>
      volume.csi !== undefined || persistentVolume?.spec.csi !== undefined,
    async setUp(request, tools) {
      const known = published.get(request.folder);
      if (known !== undefined && tools.clock.elapsedMs() < known.dueMs) return known.result;
      const volume = await describe(request, tools, options);
      const isAgain = known !== undefined;
      const mounted = await turns.run(`${volume.driverName}/${volume.handle}`, () =>
        setUp(request, volume, { tools, options, isAgain }),
      );
      const { driverName, handle: volumeId, targetPath: volumePath } = volume;
      const stats = () => csiVolumeStats(options.drivers.get(driverName), { volumeId, volumePath });
      const result: MountedVolume = volume.isBlock ? mounted : { ...mounted, stats };
      const dueMs = result.refreshAtMs ?? Number.POSITIVE_INFINITY;
      published.set(request.folder, { result, dueMs });
      return result;
    },
    async tearDown(folder) {
      published.delete(folder);
      const data = await readVolumeData(folder);
      if (data !== undefined) {
        await turns.run(`${data.driverName}/${data.volumeHandle}`, () =>
          tearDownMount(folder, data, options),
        );
      }
      await removeTree(folder);
    },
    async tearDownBlock(path) {
      const specName = basename(path);
      published.delete(
        join(dirname(dirname(dirname(path))), "volumes", "kubernetes.io~csi", specName),
      );
      const data = await readVolumeData(blockFolder(options, specName, "data"));
      if (data !== undefined) {
        await turns.run(`${data.driverName}/${data.volumeHandle}`, () =>
          tearDownBlock(path, data, options),
        );
      }
      await rm(path, { force: true });
    },
  };
}

interface Context {
  readonly tools: VolumeTools;
  readonly options: CsiVolumeOptions;
  /** It was published before, in the life of this kubelet. */
  readonly isAgain: boolean;
}

async function describe(
  request: VolumeRequest,
  { client }: VolumeTools,
  options: CsiVolumeOptions,
): Promise<CsiVolume> {
  const { volume, persistentVolume, pod, folder } = request;
  const source = persistentVolume?.spec.csi;
  const driverName = source?.driver ?? volume.csi?.driver ?? "";
  const lifecycle: Lifecycle = source === undefined ? "Ephemeral" : "Persistent";
  const uid = pod.metadata.uid ?? "";
  const handle = source?.volumeHandle ?? ephemeralHandle(uid, volume.name);
  const isBlock = persistentVolume?.spec.volumeMode === "Block";
  const specName = persistentVolume?.metadata.name ?? volume.name;
  const driver = registered(options, driverName);
  const found = await client.get(csiDriverKind, { name: driverName });
  if (!found.ok && found.status.code !== 404) throw new VolumeError(found.status.message ?? "");
  const object = found.ok ? found.value : undefined;
  const why = whyNotLifecycle(object, driverName, lifecycle);
  if (why !== undefined) {
    throw new VolumeError(`${NAME}: mounter.SetupAt failed to check volume lifecycle mode: ${why}`);
  }
  const isStaged = source !== undefined && (await can(driver, "STAGE_UNSTAGE_VOLUME"));
  const staging = isBlock
    ? blockFolder(options, "staging", specName)
    : join(stagingFolder(options, driverName, handle), "globalmount");
  return {
    ...{ driverName, driver, object, handle, specName, lifecycle, isBlock },
    fsType: source?.fsType ?? volume.csi?.fsType ?? "",
    readOnly: request.readOnly || (volume.csi?.readOnly ?? false),
    stagingPath: isStaged ? staging : "",
    targetPath: isBlock ? blockFolder(options, "publish", specName, uid) : join(folder, "mount"),
  };
}

function registered({ drivers }: CsiVolumeOptions, name: string): CsiDriver {
  try {
    return drivers.get(name);
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw new VolumeError(
      `${NAME}: attacher.MountDevice failed to create newCsiDriverClient: ${why}`,
      "MountVolume.MountDevice",
    );
  }
}

function can(driver: CsiDriver, capability: keyof typeof NODE_CAPABILITY): Promise<boolean> {
  return rpcError(driver.can(NODE_CAPABILITY[capability]), "MountVolume.SetUp");
}

async function setUp(
  request: VolumeRequest,
  volume: CsiVolume,
  context: Context,
): Promise<MountedVolume> {
  const { driver, object, lifecycle, isBlock, readOnly } = volume;
  const { persistentVolume, pod, claim } = request;
  const publishContext = await attached(volume, request, context);
  await writeData(request, volume, context.options);
  const mountGroup = (await can(driver, "VOLUME_MOUNT_GROUP"))
    ? pod.spec.securityContext?.fsGroup
    : undefined;
  const capability = volumeCapability({
    ...{ fsType: volume.fsType, isBlock, mountGroup },
    mountOptions: isBlock ? [] : (persistentVolume?.spec.mountOptions ?? []),
    accessMode: persistentVolume?.spec.accessModes?.[0] ?? "ReadWriteOnce",
    separatesWriters: await can(driver, "SINGLE_NODE_MULTI_WRITER"),
  });
  const call = { request, volume, capability, publishContext };
  if (volume.stagingPath !== "" && !context.isAgain) await stage(call, context);
  await publish(call, context);
  const canExpand = lifecycle === "Persistent" && (await can(driver, "EXPAND_VOLUME"));
  if (canExpand && claim !== undefined && persistentVolume !== undefined) {
    await expandIfWanted({
      ...{ client: context.tools.client, driver, claim, persistentVolume, capability },
      ...{ handle: volume.handle, stagingPath: volume.stagingPath, path: volume.targetPath },
    });
  }
  const isRefreshed = canExpand || (object?.spec.requiresRepublish ?? false);
  const policy = object?.spec.fsGroupPolicy ?? "ReadWriteOnceWithFSType";
  return {
    hostPath: isBlock ? await realpath(volume.targetPath) : volume.targetPath,
    readOnly,
    ...(isRefreshed ? { refreshAtMs: context.tools.clock.elapsedMs() + REFRESH_MS } : {}),
    appliesFsGroup:
      !isBlock &&
      !readOnly &&
      mountGroup === undefined &&
      appliesFsGroup(policy, volume.fsType, persistentVolume),
  };
}

interface Call {
  readonly request: VolumeRequest;
  readonly volume: CsiVolume;
  readonly capability: ReturnType<typeof volumeCapability>;
  readonly publishContext: Readonly<Record<string, string>>;
}

/** What the attacher left for the node. Throws VolumePending until the volume is attached. */
async function attached(
  { driverName, handle, lifecycle, object }: CsiVolume,
  { pod }: VolumeRequest,
  { tools, options: { inUse, nodeName }, isAgain }: Context,
): Promise<Readonly<Record<string, string>>> {
  const isAttachable = lifecycle === "Persistent" && (object?.spec.attachRequired ?? true);
  if (!isAttachable) return {};
  const unique = uniqueVolumeName(driverName, handle);
  inUse.add(unique);
  const name = attachmentName(handle, driverName, nodeName);
  const found = await tools.client.get<VolumeAttachment>(volumeAttachmentKind, { name });
  const status = found.ok ? found.value.status : undefined;
  if (status?.attachError?.message !== undefined && status.attached !== true) {
    inUse.wait(pod.metadata.uid ?? "");
    throw new VolumeError(status.attachError.message, "AttachVolume.Attach");
  }
  if (!isAgain && (!inUse.isReported(unique) || status?.attached !== true)) {
    inUse.wait(pod.metadata.uid ?? "");
    throw new VolumePending(`volume ${unique} is not attached to the node yet`);
  }
  return status?.attachmentMetadata ?? {};
}

async function writeData(
  { pod, folder }: VolumeRequest,
  volume: CsiVolume,
  options: CsiVolumeOptions,
): Promise<void> {
  const { nodeName } = options;
  const { driverName, handle, specName, isBlock } = volume;
  const data: VolumeData = {
    specVolID: specName,
    volumeHandle: handle,
    ...{ driverName, nodeName, volumeLifecycleMode: volume.lifecycle },
    attachmentID: attachmentName(handle, driverName, nodeName),
  };
  if (!isBlock) {
    await writeVolumeData(folder, data);
    return;
  }
  await writeVolumeData(blockFolder(options, specName, "data"), data);
  const devices = volumeDevicesFolder({ root: options.root, logs: "" }, pod.metadata.uid ?? "");
  const map = join(devices, "kubernetes.io~csi", specName);
  await mkdir(dirname(map), { recursive: true, mode: 0o750 });
  await symlink(volume.targetPath, map).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
}

async function stage(
  { request, volume, capability, publishContext }: Call,
  { tools, options }: Context,
): Promise<void> {
  const { driverName, handle, driver, stagingPath } = volume;
  const source = request.persistentVolume?.spec.csi;
  const secrets = await readSecret(tools.client, source?.nodeStageSecretRef, "NodeStageSecretRef");
  await mkdir(stagingPath, { recursive: true, mode: 0o750 });
  if (!volume.isBlock) {
    const folder = stagingFolder(options, driverName, handle);
    await writeVolumeData(folder, { volumeHandle: handle, driverName });
  }
  const volumeContext = source?.volumeAttributes ?? {};
  await rpcError(
    driver.call(csiNodeMethods.stage, {
      ...{ volumeId: handle, publishContext, stagingTargetPath: stagingPath },
      ...{ volumeCapability: capability, secrets, volumeContext },
    }),
    "MountVolume.MountDevice",
  );
}

async function publish(
  { request, volume, capability, publishContext }: Call,
  { tools }: Context,
): Promise<void> {
  const { object, lifecycle, driver, handle, targetPath } = volume;
  const { pod, persistentVolume } = request;
  await mkdir(dirname(targetPath), { recursive: true, mode: 0o750 });
  const given = await publishSecrets(request, object, tools);
  const source = persistentVolume?.spec.csi ?? request.volume.csi;
  const volumeContext = {
    ...source?.volumeAttributes,
    ...(object?.spec.podInfoOnMount ? podInfo(pod, lifecycle) : {}),
    ...given.context,
  };
  await rpcError(
    driver.call(csiNodeMethods.publish, {
      ...{ volumeId: handle, publishContext, stagingTargetPath: volume.stagingPath, targetPath },
      ...{ volumeCapability: capability, readonly: volume.readOnly },
      ...{ secrets: given.secrets, volumeContext },
    }),
    "MountVolume.SetUp",
  );
}

async function tearDownMount(
  folder: string,
  data: VolumeData,
  options: CsiVolumeOptions,
): Promise<void> {
  const { driverName, volumeHandle: volumeId } = data;
  const driver = options.drivers.get(driverName);
  const targetPath = join(folder, "mount");
  await driver.call(csiNodeMethods.unpublish, { volumeId, targetPath });
  if (await isMountPoint(targetPath)) throw new Error(`${targetPath} is still mounted`);
  await removeTree(folder);
  const others = await listVolumeData(options.root);
  const isUsed = others.some(
    (one) => one.driverName === driverName && one.volumeHandle === volumeId,
  );
  if (isUsed || data.volumeLifecycleMode === "Ephemeral") return;
  const staging = stagingFolder(options, driverName, volumeId);
  const stagingTargetPath = join(staging, "globalmount");
  if (await driver.can(NODE_CAPABILITY.STAGE_UNSTAGE_VOLUME)) {
    await driver.call(csiNodeMethods.unstage, { volumeId, stagingTargetPath });
    if (await isMountPoint(stagingTargetPath)) {
      throw new Error(`${stagingTargetPath} is still mounted`);
    }
  }
  await removeTree(staging);
  options.inUse.remove(uniqueVolumeName(driverName, volumeId));
}

async function tearDownBlock(
  path: string,
  { driverName, volumeHandle: volumeId, specVolID }: VolumeData,
  options: CsiVolumeOptions,
): Promise<void> {
  const driver = options.drivers.get(driverName);
  const uid = basename(dirname(dirname(dirname(path))));
  const publishFolder = blockFolder(options, "publish", specVolID);
  const targetPath = join(publishFolder, uid);
  await driver.call(csiNodeMethods.unpublish, { volumeId, targetPath });
  await rm(targetPath, { force: true });
  await rm(path, { force: true });
  if ((await listFolder(publishFolder)).length > 0) return;
  const stagingTargetPath = blockFolder(options, "staging", specVolID);
  if (await driver.can(NODE_CAPABILITY.STAGE_UNSTAGE_VOLUME)) {
    await driver.call(csiNodeMethods.unstage, { volumeId, stagingTargetPath });
  }
  for (const folder of [publishFolder, stagingTargetPath]) {
    await rmdir(folder).catch(() => undefined);
  }
  await removeTree(blockFolder(options, specVolID));
  options.inUse.remove(uniqueVolumeName(driverName, volumeId));
}

function stagingFolder({ root }: CsiVolumeOptions, driver: string, handle: string): string {
  return join(root, "plugins", NAME, driver, sha256Hex(handle));
}

function blockFolder({ root }: CsiVolumeOptions, ...names: readonly string[]): string {
  return join(root, "plugins", NAME, "volumeDevices", ...names);
}
