/** What pods share with the node and with each other on a real node, and what confines them. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000, everyMs: 200 };
const FOREVER = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"];
const HOST_PORT = 18_080;

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster();
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("isolation", () => {
  test("hostPort: the node's port leads to the container, and no longer when the pod is gone", async () => {
    const serve = ["sh", "-c", "echo hello > /tmp/index.html; exec httpd -f -p 80 -h /tmp"];
    const ports = [{ containerPort: 80, hostPort: HOST_PORT }];
    await cluster.apply(pod("host-port", { containers: [{ ...main(), command: serve, ports }] }));
    await running("host-port");
    const ask = (): Promise<{ stdout: string }> =>
      cluster.machine.run("busybox", [
        "wget",
        "-q",
        "-O",
        "-",
        `http://192.168.77.1:${HOST_PORT}/`,
      ]);
    await until(async () => (await ask()).stdout.trim() === "hello", LONG);
    await cluster.kubectl("delete", "pod", "host-port", "--timeout=60s");
    assert.equal((await ask()).stdout, "");
  }, 180_000);

  test("hostPID: the container sees the processes of the node; without it only its own", async () => {
    await cluster.apply(
      pod("host-pid", { hostPID: true, containers: [main()] }),
      pod("own-pid", { containers: [main()] }),
    );
    assert.match(await exec("host-pid", "ps"), /containerd/);
    assert.doesNotMatch(await exec("own-pid", "ps"), /containerd/);
    assert.match(await exec("own-pid", "cat", "/proc/1/cmdline"), /trap/);
  }, 180_000);

  test("hostIPC: the container has the IPC namespace of the node; without it one of its own", async () => {
    const namespaceIn = (text: string): string | undefined => /ipc:\[\d+\]/.exec(text)?.[0];
    const namespaceOf = async (name: string): Promise<string | undefined> =>
      namespaceIn(await exec(name, "ls", "-l", "/proc/self/ns/ipc"));
    await cluster.apply(
      pod("host-ipc", { hostIPC: true, containers: [main()] }),
      pod("own-ipc", { containers: [main()] }),
    );
    const ofNode = namespaceIn(
      (await cluster.machine.run("ls", ["-l", "/proc/self/ns/ipc"])).stdout,
    );
    assert.ok(ofNode !== undefined);
    assert.equal(await namespaceOf("host-ipc"), ofNode);
    assert.notEqual(await namespaceOf("own-ipc"), ofNode);
  }, 180_000);

  test("shareProcessNamespace: containers of the pod see each other, process 1 is the sandbox's", async () => {
    const second = { ...main(), name: "second", command: ["sleep", "4321"] };
    await cluster.apply(
      pod("shared-pid", { shareProcessNamespace: true, containers: [main(), second] }),
    );
    assert.match(await exec("shared-pid", "ps"), /sleep 4321/);
    assert.match(await exec("shared-pid", "cat", "/proc/1/cmdline"), /pause/);
  }, 180_000);

  test.each([
    { profile: "RuntimeDefault", mode: "2" },
    { profile: "Unconfined", mode: "0" },
  ])(
    "seccompProfile $profile: Seccomp mode $mode of the process",
    async ({ profile, mode }) => {
      const name = `seccomp-${profile.toLowerCase()}`;
      const securityContext = { seccompProfile: { type: profile } };
      await cluster.apply(pod(name, { securityContext, containers: [main()] }));
      assert.match(
        await exec(name, "grep", "^Seccomp:", "/proc/self/status"),
        new RegExp(`\\s${mode}$`, "m"),
      );
    },
    180_000,
  );

  test("sysctls: a safe one is set in the pod and nowhere else", async () => {
    const sysctls = [{ name: "net.ipv4.ip_unprivileged_port_start", value: "77" }];
    const file = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
    await cluster.apply(
      pod("sysctl", { securityContext: { sysctls }, containers: [main()] }),
      pod("no-sysctl", { containers: [main()] }),
    );
    assert.equal((await exec("sysctl", "cat", file)).trim(), "77");
    assert.notEqual((await exec("no-sysctl", "cat", file)).trim(), "77");
  }, 180_000);

  test("supplementalGroups and runAsGroup: the groups of the process", async () => {
    const securityContext = { runAsUser: 1234, runAsGroup: 2345, supplementalGroups: [3456] };
    await cluster.apply(pod("groups", { securityContext, containers: [main()] }));
    const groups = (await exec("groups", "id", "-G")).trim().split(" ");
    assert.deepEqual(groups.toSorted(), ["2345", "3456"]);
  }, 180_000);

  test("restartPolicyRules: the container is restarted for the exit codes named, and not for others", async () => {
    const ending = (code: number): object => ({
      ...main(),
      command: ["sh", "-c", `exit ${code}`],
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
    });
    await cluster.apply(
      pod("rule-42", { restartPolicy: "Never", containers: [ending(42)] }),
      pod("rule-43", { restartPolicy: "Never", containers: [ending(43)] }),
    );
    const restarts = async (name: string): Promise<number> =>
      (await cluster.pod(name)).status.containerStatuses?.[0]?.restartCount ?? 0;
    await until(async () => (await restarts("rule-42")) >= 1, LONG);
    await until(async () => (await cluster.pod("rule-43")).status.phase === "Failed", LONG);
    assert.equal(await restarts("rule-43"), 0);
    await cluster.kubectl("delete", "pod", "rule-42", "--grace-period=0", "--force");
  }, 180_000);
});

function pod(name: string, spec: object): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}

function main(): object {
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: FOREVER };
}

async function running(name: string): Promise<void> {
  await until(async () => (await cluster.pod(name)).status.phase === "Running", LONG);
}

/** stdout of a command in the container `main`, once it runs. */
async function exec(name: string, ...command: string[]): Promise<string> {
  await running(name);
  return await cluster.kubectl("exec", name, "-c", "main", "--", ...command);
}
