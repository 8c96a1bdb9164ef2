/** Upstream's kubelet on the same node, in place of ours: the same containerd, network and API server. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "#lib/time/system-clock.ts";
import { NODE, type NodeCluster } from "../../test/e2e/node/cluster.ts";
import { until } from "../../test/e2e/node/eventually.ts";

/**
 * Runs `work` while upstream's kubelet runs the node, then starts ours again. `program`: of the same
 * version, 1.36. The network configuration that our kubelet wrote is used.
 */
export async function withUpstreamKubelet<T>(
  cluster: NodeCluster,
  program: string,
  work: () => Promise<T>,
): Promise<T> {
  await cluster.stopKubelet("SIGTERM");
  const { ended } = await startUpstream(cluster, program);
  const done = await work();
  const { machine } = cluster;
  const { stdout } = await machine.run("pgrep", ["-f", `^${program} `]);
  for (const pid of stdout.trim().split("\n")) await machine.run("kill", [pid]);
  await ended;
  const startMs = await nextSecond();
  cluster.startKubelet();
  await untilReady(cluster, startMs);
  return done;
}

/** Resolves when the node is ready, with the end of the process. */
async function startUpstream(
  cluster: NodeCluster,
  program: string,
): Promise<{ readonly ended: Promise<unknown> }> {
  const { machine, runtime } = cluster;
  const { dir } = machine;
  const config = {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
    ...{ containerRuntimeEndpoint: runtime.endpoint, cgroupRoot: machine.cgroupRoot },
    ...{ cgroupDriver: "cgroupfs", failSwapOn: false, failCgroupV1: false, resolvConf: "" },
    ...{
      podLogsDir: join(dir, "upstream-logs"),
      healthzPort: 0,
      localStorageCapacityIsolation: false,
    },
    authentication: { x509: { clientCAFile: join(dir, "data/pki/ca.crt") } },
    evictionHard: { "memory.available": "1Mi" },
  };
  const file = join(dir, "upstream-kubelet.json");
  await writeFile(file, JSON.stringify(config));
  const startMs = await nextSecond();
  const child = machine.start(program, [
    ...["--kubeconfig", join(dir, "node.kubeconfig"), "--config", file],
    ...["--hostname-override", NODE, "--node-ip", "192.168.77.1"],
    ...["--root-dir", join(dir, "upstream-kubelet"), "--cert-dir", join(dir, "upstream-pki")],
  ]);
  let log = "";
  const keep = (chunk: Buffer): void => {
    log = (log + chunk).slice(-4_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  child.once("exit", (code) => {
    if (code !== null && code !== 0) process.stderr.write(`upstream's kubelet ended: ${log}\n`);
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await untilReady(cluster, startMs).catch(() => {
    throw new Error(`upstream's kubelet does not become ready: ${log}`);
  });
  return { ended };
}

/** Both kubelets have the same version: the one that was started is the one whose heartbeat is newer. */
async function untilReady({ kubectl }: NodeCluster, startMs: number): Promise<void> {
  const condition = ".status.conditions[?(@.type=='Ready')]";
  const path = `jsonpath={${condition}.status} {${condition}.lastHeartbeatTime}`;
  const isReady = async (): Promise<boolean> => {
    const [ready, heartbeat = ""] = (await kubectl("get", "node", NODE, "-o", path)).split(" ");
    return ready === "True" && Date.parse(heartbeat) >= startMs;
  };
  await until(isReady, { timeoutMs: 60_000, everyMs: 500 });
}

/** Heartbeats have whole seconds: nothing that came before has this one. */
async function nextSecond(): Promise<number> {
  await systemClock.sleep(1_000);
  return Math.floor(systemClock.nowMs() / 1000) * 1000;
}
