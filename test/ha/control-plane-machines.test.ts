/**
 * A control plane of three machines with a managed etcd: made by `k8ts up --etcd managed` and
 * `k8ts join --control-plane`, served while a machine is lost, left with `k8ts leave`.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";
import { until } from "../e2e/node/eventually.ts";
import { startMachines, type TestMachine, type TestMachines } from "./machines.ts";

const missing = missingProgram("etcd") ?? missingProgram("etcdctl");
const LONG = { timeoutMs: 120_000, everyMs: 100 };

describe.skipIf(missing !== undefined)(`control plane${missing ? ` (${missing})` : ""}`, () => {
  let all: TestMachines;
  let m1: TestMachine;
  let m2: TestMachine;
  let m3: TestMachine;
  let joinCommand: readonly string[];

  beforeAll(async () => {
    buildProgram();
    all = await startMachines(3);
    [m1, m2, m3] = all.machines as [TestMachine, TestMachine, TestMachine];
    await m1.k8ts(
      "up",
      "--no-node",
      "--no-metrics",
      "--etcd",
      "managed",
      "--bind-address",
      "0.0.0.0",
    );
  }, 180_000);

  afterAll(() => all[Symbol.asyncDispose]());

  test("token create --control-plane: certificates lie encrypted in kubeadm-certs, owned by a token of two hours", async () => {
    const printed = await m1.k8ts("token", "create", "--control-plane", "--print-join-command");
    assert.match(
      printed,
      /^k8ts join https:\/\/192\.168\.88\.1:6443 --token \S+ --ca-cert-hash sha256:[0-9a-f]{64} --control-plane --certificate-key [0-9a-f]{64}\n$/,
    );
    joinCommand = printed.trim().split(" ").slice(1);
    const secret = JSON.parse(
      await m1.kubectl("get", "secret", "-n", "kube-system", "kubeadm-certs", "-o", "json"),
    );
    assert.ok(Object.hasOwn(secret.data, "etcd-ca.key"));
    assert.doesNotMatch(Buffer.from(secret.data["ca.key"], "base64").toString(), /PRIVATE KEY/);
    assert.match(secret.metadata.ownerReferences[0].name, /^bootstrap-token-/);
    assert.match(await m1.k8ts("token", "list"), /1h .*Proxy for managing TTL/);
  }, 60_000);

  test("join --control-plane: another certificate key is refused, and nothing is left behind", async () => {
    const wrong = joinCommand.with(-1, "0".repeat(64));
    const { exitCode, stderr } = await m2.tryRun(...program(m2, wrong));
    assert.equal(exitCode, 1);
    assert.match(stderr, /--certificate-key is not the key of the Secret kubeadm-certs/);
    assert.equal((await m2.tryRun("ls", m2.data)).exitCode, 2);
  }, 60_000);

  test("join --control-plane: two machines become etcd members with a vote and API servers", async () => {
    await m2.run(...program(m2, joinCommand));
    await m3.run(...program(m3, [...joinCommand, "--node"]));
    const members = JSON.parse(await m3.k8ts("etcd", "member", "list", "-o", "json"));
    assert.deepEqual(
      members.map((one: { name: string; isLearner: boolean }) => [one.name, one.isLearner]).sort(),
      [
        ["m1", false],
        ["m2", false],
        ["m3", false],
      ],
    );
    const status = JSON.parse(await m1.k8ts("etcd", "status", "-o", "json"));
    assert.equal(status.filter((one: { role: string }) => one.role === "leader").length, 1);
    await until(
      async () => (await endpointsOf(m1)) === "192.168.88.1 192.168.88.2 192.168.88.3",
      LONG,
    );
    const leases = await m2.kubectl("get", "leases", "-n", "kube-system", "-o", "name");
    assert.equal(leases.match(/apiserver-/g)?.length, 3);
    await m2.kubectl("create", "configmap", "shared", "--from-literal=from=m2");
    assert.match(await m3.kubectl("get", "configmap", "shared", "-o", "yaml"), /from: m2/);
    const info = await m3.kubectl("get", "cm", "-n", "kube-public", "cluster-info", "-o", "yaml");
    assert.match(
      info,
      /server: https:\/\/192\.168\.88\.1:6443|"server": "https:\/\/192\.168\.88\.1:6443"/,
    );
  }, 180_000);

  test("join --control-plane --node: the machine is a node, too", async () => {
    await until(async () => / Ready /.test(await m1.kubectl("get", "node", "m3")), LONG);
  }, 180_000);

  test("etcd defrag and snapshot save work while the cluster serves", async () => {
    assert.equal((await m2.k8ts("etcd", "defrag")).match(/bytes in/g)?.length, 3);
    assert.match(await m2.k8ts("etcd", "snapshot", "save", join(all.dir, "snap")), /^saved /);
  }, 60_000);

  test("etcd and API server survive the loss of a machine, which rejoins by itself", async () => {
    await m1.run("pkill", "-9", "-f", "k8ts.js up|^etcd ");
    await until(async () => {
      const created = await m2.tryRun("kubectl", "create", "namespace", "after-loss");
      return created.exitCode === 0 || /AlreadyExists|already exists/.test(created.stderr);
    }, LONG);
    const printed = await m2.k8ts("token", "create", "--print-join-command");
    assert.match(printed, /^k8ts join https:\/\/192\.168\.88\.[23]:6443 /); // not the lost one
    await m1.k8ts("up");
    await m1.kubectl("get", "namespace", "after-loss");
  }, 240_000);

  test("etcd member replace: a member whose data is lost begins anew as a learner", async () => {
    await m3.k8ts("down");
    await m3.run("rm", "-r", join(m3.data, "etcd"));
    const refused = await m3.tryRun(...program(m3, ["up"]));
    assert.match(
      refused.stderr,
      /data of the etcd member m3 is gone: run `k8ts etcd member replace m3`/,
    );
    assert.match(await m1.k8ts("etcd", "member", "replace", "m3"), /m3 may begin anew/);
    await m3.k8ts("up");
    assert.equal((await m3.k8ts("etcd", "member", "list")).match(/started/g)?.length, 3);
  }, 180_000);

  test("leave: the member and the endpoint go, the data too; the rest serves", async () => {
    await m1.k8ts("leave");
    assert.equal((await m1.tryRun("ls", m1.data)).exitCode, 2);
    assert.equal((await m2.k8ts("etcd", "member", "list")).match(/started/g)?.length, 2);
    await until(async () => (await endpointsOf(m2)) === "192.168.88.2 192.168.88.3", LONG);
    await m3.kubectl("get", "configmap", "shared");
    assert.equal((await m1.tryRun("pgrep", "-x", "etcd")).exitCode, 1);
  }, 120_000);

  test("leave --force: cleans up where no other member answers; without it nothing is removed", async () => {
    await m2.run("pkill", "-9", "-f", "k8ts.js up|^etcd ");
    const refused = await m3.tryRun(...program(m3, ["leave"]));
    assert.match(refused.stderr, /no etcd member answers.*\(--force cleans up here anyway\)/);
    await m3.run("ls", join(m3.data, "etcd"));
    await m3.k8ts("leave", "--force");
    assert.equal((await m3.tryRun("ls", m3.data)).exitCode, 2);
    assert.equal((await m3.tryRun("pgrep", "-x", "etcd|containerd")).exitCode, 1);
  }, 120_000);

  test("etcd snapshot restore: one machine goes on from the snapshot without the others", async () => {
    await m2.k8ts("etcd", "snapshot", "restore", join(all.dir, "snap"));
    await m2.k8ts("up");
    assert.match(await m2.kubectl("get", "configmap", "shared", "-o", "yaml"), /from: m2/);
    const later = await m2.tryRun("kubectl", "get", "namespace", "after-loss");
    assert.match(later.stderr, /NotFound/); // written after the snapshot
    assert.equal((await m2.k8ts("etcd", "member", "list")).match(/started/g)?.length, 1);
  }, 240_000);
});

/** The words that run the program on that machine. */
function program(machine: TestMachine, args: readonly string[]): [string, ...string[]] {
  return [process.execPath, PROGRAM, ...args, "--data", machine.data];
}

async function endpointsOf({ kubectl }: TestMachine): Promise<string> {
  const path = "jsonpath={.subsets[*].addresses[*].ip}";
  const text = await kubectl("get", "endpoints", "kubernetes", "-o", path);
  return text.split(" ").sort().join(" ");
}
