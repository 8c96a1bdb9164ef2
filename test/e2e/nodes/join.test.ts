/**
 * `k8ts token` and `k8ts join` of the built program: a machine that has nothing but a TCP path to port 6443
 * becomes a node, with a certificate of its own.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import { type MachineCluster, prepareMachine } from "./machine-cluster.ts";

const LONG = { timeoutMs: 120_000, everyMs: 200 };

/** The other machine: its arguments are the command that runs there. It ends when the command does. */
const OTHER_MACHINE = `
unshare --net --mount --pid --ipc --uts --fork --mount-proc --propagation private --kill-child sh -c '
  hostname other; mount -t tmpfs tmpfs /run; mkdir -p /var/lib/cni; mount -t tmpfs tmpfs /var/lib/cni; ip link set lo up
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
  ip addr add 192.168.88.2/24 dev eth0; ip link set eth0 up
  ip route add 192.168.77.1 dev eth0
  "$@"; exit $?' sh "$@" &
other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add far0 type veth peer name eth0 netns $other
ip addr add 192.168.88.1/24 dev far0
iptables -A INPUT -i far0 -p tcp --dport 6443 -j ACCEPT
iptables -A INPUT -i far0 -j DROP
iptables -A OUTPUT -o far0 -p tcp --sport 6443 -j ACCEPT
iptables -A OUTPUT -o far0 -j DROP
ip link set far0 up
wait $other
code=$?
iptables -F
exit $code
`;

describe("k8ts join", () => {
  let cluster: MachineCluster;
  let command: readonly string[];

  beforeAll(async () => {
    cluster = await prepareMachine();
    await cluster.k8ts("up", "--no-node", "--bind-address", "0.0.0.0");
    writeFileSync(join(cluster.machine.dir, "other-machine"), OTHER_MACHINE);
    const printed = await cluster.k8ts("token", "create", "--print-join-command", "--ttl", "1h");
    command = printed.trim().split(" ").slice(1);
    const info = [
      "get",
      "configmap",
      "cluster-info",
      "-n",
      "kube-public",
      "-o",
      "jsonpath={.data}",
    ];
    const id = command[3]!.slice(0, 6);
    await until(
      async () => (await cluster.kubectl(...info)).includes(`jws-kubeconfig-${id}`),
      LONG,
    );
  }, 180_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const onOther = (args: readonly string[]): string[] => [
    ...["sh", join(cluster.machine.dir, "other-machine"), process.execPath, PROGRAM, ...args],
    ...["--data", join(cluster.machine.dir, "other"), "--no-install"],
  ];

  test("token: create prints the join command; list shows it; delete removes it; bad ones are refused", async () => {
    assert.deepEqual([command[0], command[1]], ["join", "https://192.168.77.1:6443"]);
    assert.match(
      command.join(" "),
      /--token [a-z0-9]{6}\.[a-z0-9]{16} --ca-cert-hash sha256:[0-9a-f]{64}$/,
    );
    const token = (await cluster.k8ts("token", "create", "--description", "spare")).trim();
    const row = new RegExp(`${token.replace(".", "\\.")} +23h .*authentication,signing +spare `);
    assert.match(await cluster.k8ts("token", "list"), row);
    const listed = JSON.parse(await cluster.k8ts("token", "list", "-o", "json"));
    const found = listed.find((one: { token: string }) => one.token === token);
    assert.deepEqual([found.description, found.usages], ["spare", ["authentication", "signing"]]);
    await cluster.k8ts("token", "delete", token);
    assert.doesNotMatch(await cluster.k8ts("token", "list"), row);
    await assert.rejects(cluster.k8ts("token", "create", "nonsense"), /was not of the form/);
  }, 60_000);

  test("join: another pin, a token that the cluster does not have, and a missing pin are refused", async () => {
    const tries = [
      { args: command.with(5, `sha256:${"0".repeat(64)}`), says: /none of the public keys/ },
      { args: command.with(3, "abcdef.0123456789abcdef"), says: /token id "abcdef" is invalid/ },
      { args: command.slice(0, 4), says: /--ca-cert-hash is needed/ },
    ];
    for (const { args, says } of tries) {
      const data = join(cluster.machine.dir, "refused");
      const { exitCode, stderr } = await cluster.tryRun(
        process.execPath,
        ...[PROGRAM, ...args, "--data", data, "--no-install"],
      );
      assert.equal(exitCode, 1);
      assert.match(stderr, says);
    }
  }, 120_000);

  test("join: TLS bootstrap, a pod runs, SIGTERM ends it; the second time it needs no token", async () => {
    const first = start(onOther(command));
    await until(() => first.output().includes("has joined the cluster"), LONG).catch(() =>
      assert.fail(first.output()),
    );
    await cluster.kubectl("wait", "--for=condition=Ready", "node/other", "--timeout=120s");
    const requests = await cluster.kubectl("get", "csr", "--no-headers");
    assert.match(
      requests,
      /kube-apiserver-client-kubelet +system:bootstrap:\w{6} .*Approved,Issued/,
    );
    const pod = { name: "p", image: "k8ts.local/pause:1" };
    await cluster.kubectl(
      ...["run", pod.name, `--image=${pod.image}`, "--restart=Never"],
      `--overrides={"spec":{"nodeName":"other"}}`,
    );
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=120s");
    const ip = await cluster.kubectl("get", "pod", "p", "-o", "jsonpath={.status.podIP}");
    assert.match(ip, /^10\.244\.0\./);
    await end();
    assert.equal(await first.exit, 0, first.output());
    assert.doesNotMatch(await cluster.run("ps", "-eo", "args"), /containerd|\/pause/);
    const again = start(onOther(["join"]));
    await until(() => again.output().includes("has joined the cluster"), LONG).catch(() =>
      assert.fail(again.output()),
    );
    await end();
    assert.equal(await again.exit, 0, again.output());
  }, 400_000);

  test("k8ts kubelet --bootstrap-kubeconfig writes its own kubeconfig, as system:node:NAME", async () => {
    const token = command[3]!;
    const files = ["bootstrap", "kubelet"].map((name) => join(cluster.machine.dir, `${name}.conf`));
    const config = ["config", "--kubeconfig", files[0]!];
    const server = ["--server", "https://192.168.77.1:6443", "--embed-certs"];
    const ca = ["--certificate-authority", join(cluster.data, "pki/ca.crt")];
    await cluster.kubectl(...config, "set-cluster", "c", ...server, ...ca);
    await cluster.kubectl(...config, "set-credentials", "u", "--token", token);
    await cluster.kubectl(...config, "set-context", "x", "--cluster", "c", "--user", "u");
    await cluster.kubectl(...config, "use-context", "x");
    const kubelet = start([
      ...[process.execPath, PROGRAM, "kubelet", "--bootstrap-kubeconfig", files[0]!],
      ...["--kubeconfig", files[1]!, "--rotate-certificates", "--hostname-override", "boot"],
      ...["--root-dir", join(cluster.machine.dir, "boot")],
    ]);
    const whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    await until(async () => {
      const { stdout } = await cluster.tryRun("kubectl", "--kubeconfig", files[1]!, ...whoami);
      return stdout === "system:node:boot";
    }, LONG).catch(() => assert.fail(kubelet.output()));
    await end("kubelet").catch(() => undefined); // without a runtime it may have ended
    await kubelet.exit;
  }, 180_000);

  function start(words: readonly string[]) {
    const child = cluster.machine.start(words[0]!, words.slice(1));
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        output = (output + chunk).slice(-20_000);
      });
    }
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
    return { output: () => output, exit };
  }

  /** The process of the program itself, not the shells around it. */
  async function end(verb = "join"): Promise<void> {
    const script = `kill -TERM $(pgrep -f '^${process.execPath} ${PROGRAM} ${verb}')`;
    await cluster.run("sh", "-c", script);
  }
});
