/** Upstream's kubelet on the same node, in place of ours: the same containerd, network and API server. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NODE, type NodeCluster } from "../../test/e2e/node/cluster.ts";
import { until } from "../../test/e2e/node/eventually.ts";

/** `program`: of the same version, 1.36. The network configuration that our kubelet wrote is used. */
export async function startUpstreamKubelet(
  { machine, runtime, stopKubelet, kubectl }: NodeCluster,
  program: string,
): Promise<void> {
  await stopKubelet("SIGTERM");
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
  const fields =
    "{.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=='Ready')].status}";
  const isReady = async (): Promise<boolean> => {
    const text = await kubectl("get", "node", NODE, "-o", `jsonpath=${fields}`);
    return !text.includes("k8ts") && text.endsWith(" True");
  };
  await until(isReady, { timeoutMs: 60_000, everyMs: 500 }).catch(() => {
    throw new Error(`upstream's kubelet does not become ready: ${log}`);
  });
}
