/** containerd inside a machine, with busybox as image and as sandbox. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { containerdConfig, socketOf } from "#kubelet/containerd/containerd-config.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { writeBusyboxImage } from "./busybox-image.ts";
import type { Machine } from "./machine.ts";

export const BUSYBOX = "docker.io/library/busybox:1.36";

export interface Runtime {
  readonly endpoint: string;
  readonly cniConf: string;
}

export async function startRuntime(machine: Machine): Promise<Runtime> {
  const { dir } = machine;
  const settings = {
    ...{ root: join(dir, "root"), state: join(dir, "run"), cniBin: "/usr/lib/cni" },
    ...{ cniConf: join(dir, "cni"), sandboxImage: BUSYBOX, systemdCgroup: false },
    ...{ restrictOomScoreAdj: true, handlers: { runc: "/usr/sbin/runc", crun: "/usr/bin/crun" } },
  };
  await mkdir(settings.cniConf, { recursive: true });
  await writeFile(join(dir, "containerd.toml"), containerdConfig(settings));
  const child = machine.start("containerd", ["--config", join(dir, "containerd.toml")]);
  let log = "";
  const keep = (chunk: Buffer): void => {
    log = (log + chunk).slice(-20_000);
  };
  child.stderr?.on("data", keep);
  child.stdout?.on("data", keep);
  const endpoint = `unix://${socketOf(settings)}`;
  await untilAnswering(endpoint, () => log);
  const archive = join(dir, "busybox.tar");
  await writeBusyboxImage(archive, {
    name: BUSYBOX,
    command: ["sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 1000 & wait $!; done"],
  });
  const imported = await machine.run("ctr", [
    ...["--address", socketOf(settings), "--namespace", "k8s.io"],
    ...["images", "import", archive],
  ]);
  if (imported.exitCode !== 0) throw new Error(`import failed: ${imported.stderr}`);
  return { endpoint, cniConf: settings.cniConf };
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
