/** `k8ts down` after `kill -9` of a cluster with its own node: the built program, in a machine of its own. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";

describe("k8ts down after kill -9", () => {
  let machine: Machine;
  let data: string;

  beforeAll(async () => {
    for (const program of ["containerd", "runc"] as const) missingProgram(program);
    buildProgram();
    machine = await startMachine();
    data = join(machine.dir, "data");
    const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
    const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
    await run("sh", "-c", `${link} && ${address}`);
  }, 120_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
  });

  async function run(program: string, ...args: string[]): Promise<string> {
    const home = [`HOME=${machine.dir}`, `KUBECONFIG=${join(machine.dir, "kubeconfig")}`];
    const result = await machine.run("env", [...home, program, ...args]);
    if (result.exitCode !== 0) throw new Error(`${program} ${args.join(" ")}: ${result.stderr}`);
    return result.stdout;
  }

  const k8ts = (...args: string[]): Promise<string> =>
    run(process.execPath, PROGRAM, ...args, "--data", data);

  test("the pods, their networks, mounts and cgroups go; with --purge the data and the context", async () => {
    assert.match(await k8ts("up"), /^ {2}node +\d+ ms$[\s\S]*^ready in /m);
    const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"k8ts.local/pause:1"}]}}`;
    await run(
      "sh",
      "-c",
      `until kubectl get sa default; do sleep 0.2; done; echo '${pod}' | kubectl apply -f -`,
    );
    await run("kubectl", "wait", "--for=condition=Ready", "pod/p", "--timeout=60s");
    const ownPaths = async (): Promise<string[]> => {
      const mounts = await run("cat", "/proc/mounts");
      return mounts.match(/\/run\/(?:netns\/cni-[^ ]+|k8ts\/[0-9a-f]+)/g) ?? [];
    };
    await until(
      async () => new Set((await ownPaths()).map((path) => path.slice(0, 9))).size === 2,
      {
        timeoutMs: 60_000,
      },
    );
    const paths = await ownPaths();
    const { pid } = JSON.parse(readFileSync(join(data, "k8ts.pid"), "utf8")) as { pid: number };
    await run("kill", "-9", String(pid));
    await k8ts("down", "--purge");
    assert.doesNotMatch(await run("ps", "-eo", "args"), /containerd|\/pause/);
    assert.doesNotMatch(await run("cat", "/proc/mounts"), /k8ts\/|\/run\/netns\/cni-/);
    assert.doesNotMatch(await run("ip", "-brief", "link"), /k8t[a-z]-|veth[0-9a-f]{8}/);
    assert.deepEqual(
      paths.filter((path) => existsSync(path)),
      [],
    );
    assert.equal(await run("sh", "-c", "iptables-save -t nat | grep -c CNI- || true"), "0\n");
    assert.doesNotMatch(await run("nft", "list", "tables"), /kube-proxy|k8ts/);
    assert.equal(existsSync(data), false);
    assert.doesNotMatch(readFileSync(join(machine.dir, "kubeconfig"), "utf8"), /k8ts/);
  }, 180_000);
});
