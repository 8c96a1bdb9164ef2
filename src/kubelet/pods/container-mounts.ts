/** What is mounted into a container: its volumes, the hosts file, and the termination log. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container, Pod, VolumeMount } from "#api/generated/core.v1.ts";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { bindSubpath, whyBadSubpath } from "#host/safe-subpath.ts";
import { type ImageSpec, type Mount, PROPAGATION } from "#kubelet/cri/common-messages.ts";
import { expand } from "#kubelet/decide/inputs/expand.ts";
import {
  hostNetworkHostsFile,
  hostsFile,
  type PodHostname,
} from "#kubelet/decide/inputs/pod-hostname.ts";
import type { MountedVolume } from "#kubelet/volumes/volume-plugin.ts";
import { containerFolder, type PodPaths, podFolder } from "./pod-paths.ts";

/** The message of CreateContainerConfigError. */
export class MountError extends Error {
  override readonly name = "MountError";
}

export interface MountOptions {
  readonly pod: Pod;
  readonly container: Container;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Image volumes, by name: the runtime mounts them. */
  readonly images: ReadonlyMap<string, ImageSpec>;
  /** Whether the runtime can mount a tree read-only, other mounts below it included. */
  canMountRecursiveReadOnly(): Promise<boolean>;
  readonly env: ReadonlyMap<string, string>;
  readonly podIps: readonly string[];
  readonly hostname: PodHostname;
  readonly paths: PodPaths;
  /** Identifies one run of the container. */
  readonly runId: string;
}

const HOSTS_PATH = "/etc/hosts";

export async function containerMounts(options: MountOptions): Promise<Mount[]> {
  const { container, pod } = options;
  const mounts: Mount[] = [];
  for (const index of (container.volumeMounts ?? []).keys()) {
    mounts.push(await volumeMount(options, index));
  }
  const isTaken = container.volumeMounts?.some(({ mountPath }) => mountPath === HOSTS_PATH);
  if (!isTaken && (options.podIps.length > 0 || pod.spec.hostNetwork)) {
    mounts.push(await hostsMount(options));
  }
  const terminationLog = await terminationLogMount(options);
  return terminationLog === undefined ? mounts : [...mounts, terminationLog];
}

async function volumeMount(options: MountOptions, index: number): Promise<Mount> {
  const { container, volumes, images, env } = options;
  const mount = container.volumeMounts![index]!;
  const volume = volumes.get(mount.name);
  const image = images.get(mount.name);
  if (volume === undefined && image === undefined) {
    throw new MountError(
      `cannot find volume "${mount.name}" to mount into container "${container.name}"`,
    );
  }
  const subpath = subpathOf(mount, env);
  const { mountPropagation = "None" } = mount;
  const common = {
    containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
    readonly: (mount.readOnly ?? false) || (volume?.readOnly ?? true),
    recursiveReadOnly: await isRecursiveReadOnly(mount, options),
    propagation:
      mountPropagation === "Bidirectional"
        ? PROPAGATION.BIDIRECTIONAL
        : mountPropagation === "HostToContainer"
          ? PROPAGATION.HOST_TO_CONTAINER
          : PROPAGATION.PRIVATE,
  };
  if (image !== undefined) return { ...common, image, imageSubPath: subpath };
  const path = volume?.hostPath ?? "";
  const hostPath = subpath === "" ? path : await boundSubpath(options, index, path, subpath);
  return { ...common, hostPath };
}

function subpathOf(
  { subPath = "", subPathExpr }: VolumeMount,
  env: ReadonlyMap<string, string>,
): string {
  let subpath = subPath;
  if (subPathExpr) {
    const missing: string[] = [];
    subpath = expand(subPathExpr, (name) => {
      const value = env.get(name);
      if (value === undefined) missing.push(name);
      return value;
    });
    if (missing.length > 0) throw new MountError(`missing value for "${missing[0]}"`);
  }
  const why = whyBadSubpath(subpath);
  if (why !== undefined) throw new MountError(why);
  return subpath;
}

async function isRecursiveReadOnly(
  { name, recursiveReadOnly: mode = "Disabled", readOnly, mountPropagation }: VolumeMount,
  { canMountRecursiveReadOnly }: MountOptions,
): Promise<boolean> {
  if (mode === "Disabled") return false;
  const words = `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode, but it is not`;
  if (!readOnly) throw new MountError(`${words} read-only`);
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    throw new MountError(`${words} compatible with propagation "${mountPropagation}"`);
  }
  const isPossible = await canMountRecursiveReadOnly();
  if (mode === "Enabled" && !isPossible) throw new MountError(`${words} supported by the runtime`);
  return isPossible;
}

async function boundSubpath(
  { pod, container, paths }: MountOptions,
  index: number,
  volume: string,
  subpath: string,
): Promise<string> {
  const { name } = container.volumeMounts![index]!;
  const folder = podFolder(paths, pod.metadata.uid ?? "");
  const target = join(folder, "volume-subpaths", name, container.name, String(index));
  try {
    await bindSubpath(volume, subpath, target);
  } catch {
    // What lies on the host is not for the user.
    throw new MountError(
      `failed to prepare subPath for volumeMount "${name}" of container "${container.name}"`,
    );
  }
  return target;
}

async function hostsMount({ pod, hostname, podIps, paths }: MountOptions): Promise<Mount> {
  const hostPath = join(podFolder(paths, pod.metadata.uid ?? ""), "etc-hosts");
  const content = pod.spec.hostNetwork
    ? hostNetworkHostsFile(pod, (await readTextIfPresent(HOSTS_PATH)) ?? "")
    : hostsFile(pod, hostname, podIps);
  // Containers have the file mounted: it is the file that must change, not its name.
  if ((await readTextIfPresent(hostPath)) === undefined) await writeFileWhole(hostPath, content);
  else await writeFile(hostPath, content);
  return { containerPath: HOSTS_PATH, hostPath };
}

async function terminationLogMount(options: MountOptions): Promise<Mount | undefined> {
  const { pod, container, paths, runId } = options;
  const { terminationMessagePath = "/dev/termination-log" } = container;
  if (terminationMessagePath === "") return undefined;
  const folder = containerFolder(paths, pod.metadata.uid ?? "", container.name);
  const hostPath = join(folder, runId);
  await mkdir(folder, { recursive: true });
  await writeFile(hostPath, "");
  await chmod(hostPath, 0o666); // the container may run as anyone
  return { containerPath: terminationMessagePath, hostPath };
}
