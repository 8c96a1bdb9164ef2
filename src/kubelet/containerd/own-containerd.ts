/**
 * A containerd that belongs to a node of `k8ts up`, with the settings that fit this machine and the
 * pause image in it.
 */
import { join } from "node:path";
import { CAP_SYS_RESOURCE, hasCapability } from "#host/capabilities.ts";
import { pathExists } from "#host/files.ts";
import { createCriClient } from "../cri/cri-client.ts";
import { containerdImages } from "../images/containerd-images.ts";
import { PAUSE_IMAGE, writePauseImage } from "../images/pause-image.ts";
import type { ContainerdSettings } from "./containerd-config.ts";
import type { NodePaths } from "./node-paths.ts";
import {
  type ContainerdOptions,
  type RunningContainerd,
  startContainerd,
} from "./run-containerd.ts";

const CNI_FOLDERS = ["/opt/cni/bin", "/usr/lib/cni"];
/** RuntimeClass handlers, offered where their program is installed. */
const HANDLERS: Readonly<Record<string, readonly string[]>> = {
  runc: ["/usr/bin/runc", "/usr/sbin/runc", "/usr/local/sbin/runc"],
  crun: ["/usr/bin/crun", "/usr/local/bin/crun"],
};

export async function startOwnContainerd(
  paths: NodePaths,
  options: Omit<ContainerdOptions, "settings">,
  signal: AbortSignal,
): Promise<RunningContainerd> {
  const running = await startContainerd({ ...options, settings: await settingsOf(paths) }, signal);
  await importPauseImage(running.endpoint, paths.work, signal);
  return running;
}

async function settingsOf(paths: NodePaths): Promise<ContainerdSettings> {
  const cniBin = (await firstPresent(CNI_FOLDERS.map((folder) => join(folder, "bridge")))) ?? "";
  const handlers: Record<string, string> = {};
  for (const [name, programs] of Object.entries(HANDLERS)) {
    const program = await firstPresent(programs);
    if (program !== undefined) handlers[name] = program;
  }
  if (handlers.runc === undefined) throw new Error("runc is not installed");
  if (cniBin === "")
    throw new Error("the CNI plug-ins (containernetworking-plugins) are not installed");
  return {
    root: paths.containerdRoot,
    state: paths.containerdState,
    cniBin: cniBin.slice(0, cniBin.lastIndexOf("/")),
    cniConf: paths.cniConf,
    sandboxImage: PAUSE_IMAGE,
    systemdCgroup: false,
    restrictOomScoreAdj: !(await hasCapability(CAP_SYS_RESOURCE)),
    handlers,
  };
}

async function firstPresent(candidates: readonly string[]): Promise<string | undefined> {
  for (const path of candidates) if (await pathExists(path)) return path;
  return undefined;
}

async function importPauseImage(
  endpoint: string,
  work: string,
  signal: AbortSignal,
): Promise<void> {
  using cri = createCriClient({ endpoint });
  const { image } = await cri.images.imageStatus({ image: { image: PAUSE_IMAGE } }, { signal });
  if (image !== undefined) return;
  const file = join(work, "pause.tar");
  await writePauseImage(process.arch, file, work, signal);
  await containerdImages(endpoint, work).importFile(file, signal);
}
