/** containerd inside a machine, with busybox as image and as sandbox. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { containerdConfig, socketOf } from "#kubelet/containerd/containerd-config.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { PAUSE_IMAGE, writePauseImage } from "#kubelet/images/pause-image.ts";
import { writeBusyboxImage } from "./busybox-image.ts";
import type { Machine } from "./machine.ts";

export const BUSYBOX = "docker.io/library/busybox:1.36";

export interface Runtime {
  readonly endpoint: string;
  readonly cniConf: string;
  /** Kills containerd (SIGKILL). Containers and their shims go on. */
  kill(): Promise<void>;
  /** Resolves when it answers again. */
  start(): Promise<void>;
}

export async function startRuntime(machine: Machine): Promise<Runtime> {
  const { dir } = machine;
  const settings = {
    ...{ root: join(dir, "root"), state: join(dir, "run"), cniBin: "/usr/lib/cni" },
    ...{ cniConf: join(dir, "cni"), sandboxImage: PAUSE_IMAGE, systemdCgroup: false },
    ...{ restrictOomScoreAdj: true, handlers: { runc: "/usr/sbin/runc", crun: "/usr/bin/crun" } },
  };
  await mkdir(settings.cniConf, { recursive: true });
  await writeFile(join(dir, "containerd.toml"), containerdConfig(settings));
  const endpoint = `unix://${socketOf(settings)}`;
  const start = async (): Promise<void> => {
    const child = machine.start("containerd", ["--config", join(dir, "containerd.toml")]);
    let log = "";
    const keep = (chunk: Buffer): void => {
      log = (log + chunk).slice(-20_000);
    };
    child.stderr?.on("data", keep);
    child.stdout?.on("data", keep);
    await untilAnswering(endpoint, () => log);
  };
  const kill = async (): Promise<void> => {
    const { stdout } = await machine.run("pgrep", ["-x", "containerd"]);
    for (const pid of stdout.trim().split("\n")) await machine.run("kill", ["-KILL", pid]);
  };
  await start();
  await importImages(machine, socketOf(settings));
  return { endpoint, cniConf: settings.cniConf, kill, start };
}

/** The pause image that k8ts makes, and busybox as a container that waits. */
async function importImages(machine: Machine, socket: string): Promise<void> {
  const { dir } = machine;
  const archive = join(dir, "busybox.tar");
  await writeBusyboxImage(archive, {
    name: BUSYBOX,
    command: ["sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 1000 & wait $!; done"],
  });
  const pause = join(dir, "pause.tar");
  await writePauseImage(process.arch, pause, join(dir, "work"));
  for (const file of [archive, pause]) {
    const imported = await machine.run("ctr", [
      ...["--address", socket, "--namespace", "k8s.io"],
      ...["images", "import", file],
    ]);
    if (imported.exitCode !== 0) throw new Error(`import failed: ${imported.stderr}`);
  }
}

async function untilAnswering(endpoint: string, log: () => string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    using cri = createCriClient({ endpoint, timeoutMs: 1_000 });
    try {
      await cri.runtime.version({});
      return;
    } catch (error) {
      if (attempt === 200)
        throw new Error(`containerd does not answer: ${log()}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
