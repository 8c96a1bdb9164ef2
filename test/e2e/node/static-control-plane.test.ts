/** `k8ts manifests`: a control plane of static pods on a real containerd, run by `k8ts kubelet`. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";
import { type Runtime, startRuntime } from "./runtime.ts";

const LONG = { timeoutMs: 120_000, everyMs: 500 };
const NODE = "node-1";
const PARTS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

describe("k8ts manifests", () => {
  let machine: Machine;
  let runtime: Runtime;
  let log = "";

  beforeAll(async () => {
    buildProgram();
    machine = await startMachine();
    await mustRun(
      "sh",
      "-c",
      "ip link add node0 type bridge && ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up",
    );
    runtime = await startRuntime(machine);
  }, 120_000);

  afterAll(() => machine[Symbol.asyncDispose]());

  test("manifests: the kubelet starts etcd, API server, controller manager and scheduler as static pods; mirror pods show them", async () => {
    const { dir } = machine;
    const data = join(dir, "data");
    const archive = join(dir, "k8ts.tar");
    const manifests = join(dir, "manifests");
    const written = await mustRun(
      ...[process.execPath, PROGRAM, "manifests", "--dir", manifests, "--data", data],
      ...["--image-archive", archive, "--advertise-address", "192.168.77.1", "--node-name", NODE],
    );
    for (const part of PARTS) assert.match(written, new RegExp(`/${part}\\.yaml\n`));
    const image = [PROGRAM, "image", "import", archive, "--data", data];
    await mustRun(process.execPath, ...image, "--container-runtime-endpoint", runtime.endpoint);
    const kubelet = machine.start(process.execPath, [
      ...[PROGRAM, "kubelet", "--kubeconfig", join(data, "kubelet.kubeconfig")],
      ...["--hostname-override", NODE, "--pod-manifest-path", manifests],
      ...["--container-runtime-endpoint", runtime.endpoint, "--cni-conf-dir", runtime.cniConf],
      ...["--root-dir", join(dir, "kubelet"), "--pod-log-dir", join(dir, "logs")],
      ...["--cgroup-root", machine.cgroupRoot, "--node-ip", "192.168.77.1", "--resolv-conf="],
      ...["--client-ca-file", join(data, "pki/ca.crt")],
    ]);
    for (const stream of [kubelet.stdout, kubelet.stderr]) {
      stream?.on("data", (chunk) => {
        log = (log + chunk).slice(-20_000);
      });
    }
    const kubectl = ["--kubeconfig", join(data, "admin.kubeconfig")];
    const pods = [...kubectl, "get", "pods", "-n", "kube-system", "--no-headers"];
    await until(async () => {
      const { stdout } = await machine.run("kubectl", pods);
      return PARTS.every((part) => new RegExp(`^${part}-${NODE} +1/1 +Running`, "m").test(stdout));
    }, LONG).catch(async () => {
      const { stdout, stderr } = await machine.run("kubectl", pods);
      const logs = await machine.run("sh", ["-c", `tail -n 5 ${dir}/logs/*/*/*.log`]);
      assert.fail(`${stdout}${stderr}\n${logs.stdout}\n${log.slice(-4_000)}`);
    });
    // The controllers work: a namespace gets its account.
    await mustRun("kubectl", ...kubectl, "create", "namespace", "shop");
    await until(async () => {
      const args = [...kubectl, "get", "serviceaccount", "default", "-n", "shop"];
      return (await machine.run("kubectl", args)).exitCode === 0;
    }, LONG);
  }, 400_000);

  async function mustRun(program: string, ...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await machine.run(program, args);
    if (exitCode !== 0) throw new Error(`${program} ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }
});
