/**
 * The CRI calls of a pod without a kubelet: the same requests, made one after the other by nothing but
 * a client. Its cgroup is made by the runtime.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";
import { NAMESPACE_MODE } from "#kubelet/cri/common-messages.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import { hostsFile, podHostname } from "#kubelet/decide/inputs/pod-hostname.ts";
import { containerConfig } from "#kubelet/runtime/container-config.ts";
import { sandboxConfig } from "#kubelet/runtime/sandbox-config.ts";

const DOMAIN = "cluster.local";
const MEMORY_BYTES = 1024 ** 3;

export interface BarePod {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface BarePodOptions {
  readonly pod: Pod;
  readonly cgroupParent: string;
  /** For the files that every pod has: its hosts, its termination message and its log. */
  readonly folder: string;
}

export async function prepareBarePod(
  { runtime }: CriClient,
  { pod, cgroupParent, folder }: BarePodOptions,
): Promise<BarePod> {
  const hostname = podHostname(pod, DOMAIN);
  const container = pod.spec.containers![0]!;
  const userNamespace = { mode: NAMESPACE_MODE.NODE };
  const sandbox = sandboxConfig({
    ...{ pod, attempt: 0, hostname, logDirectory: folder, cgroupParent, userNamespace },
    dns: { servers: ["10.96.0.10"], searches: [DOMAIN], options: ["ndots:5"] },
  });
  await mkdir(join(folder, container.name), { recursive: true });
  await writeFile(join(folder, "hosts"), hostsFile(pod, hostname, ["10.244.0.2"]));
  await writeFile(join(folder, "termination"), "");
  const config = containerConfig({
    ...{ pod, container, restartCount: 0, userNamespace, targetId: undefined },
    ...{ imageRef: container.image ?? "", imageUser: { uid: 0 } },
    env: new Map([["KUBERNETES_SERVICE_HOST", "10.96.0.1"]]),
    mounts: [
      { containerPath: "/etc/hosts", hostPath: join(folder, "hosts") },
      { containerPath: "/dev/termination-log", hostPath: join(folder, "termination") },
    ],
    ...{ devices: [], annotations: {}, cdiDevices: [], singleProcessOomKill: false },
    ...{ memoryCapacityBytes: MEMORY_BYTES, cfs: { isEnforced: true, periodUs: 100_000 } },
    swap: {
      behavior: "",
      cgroupVersion: 1,
      hasController: false,
      memoryBytes: MEMORY_BYTES,
      swapBytes: 0,
    },
    placement: { cpus: undefined, mems: undefined, hasOwnCpus: false },
    cgroupVersion: 1,
    ...{ seccompRoot: "", seccompDefault: false },
  });
  let podSandboxId = "";
  let containerId = "";
  return {
    start: async () => {
      ({ podSandboxId } = await runtime.runPodSandbox({ config: sandbox }));
      const request = { podSandboxId, config, sandboxConfig: sandbox };
      ({ containerId } = await runtime.createContainer(request));
      await runtime.startContainer({ containerId });
    },
    stop: async () => {
      await runtime.stopContainer({ containerId, timeout: 30 });
      await runtime.stopPodSandbox({ podSandboxId });
      await runtime.removeContainer({ containerId });
      await runtime.removePodSandbox({ podSandboxId });
    },
  };
}
