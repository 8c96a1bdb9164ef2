/** The CRI client against a real containerd: every message that a pod's life needs. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "vitest";
import { NAMESPACE_MODE } from "#kubelet/cri/common-messages.ts";
import { CONTAINER_STATE } from "#kubelet/cri/container-messages.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { SANDBOX_STATE } from "#kubelet/cri/sandbox-messages.ts";
import { CNI_CONFIG_NAME, cniConfig } from "#kubelet/network/cni-config.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { until } from "./eventually.ts";
import { startMachine } from "./machine.ts";
import { BUSYBOX, startRuntime } from "./runtime.ts";

test("CRI: RunPodSandbox, CreateContainer, ExecSync, StopContainer and RemovePodSandbox", async () => {
  await using machine = await startMachine();
  const { endpoint, cniConf } = await startRuntime(machine);
  using cri = createCriClient({ endpoint });
  const version = await cri.runtime.version({});
  assert.equal(version.runtimeName, "containerd");

  const before = await cri.runtime.status({});
  const networkOf = ({ status }: typeof before): boolean | undefined =>
    status?.conditions.find(({ type }) => type === "NetworkReady")?.status;
  assert.equal(networkOf(before), false);
  await writeFile(join(cniConf, CNI_CONFIG_NAME), cniConfig({ podCidrs: ["10.244.0.0/24"] }));
  await until(async () => networkOf(await cri.runtime.status({})) === true);

  const config = {
    metadata: { name: "web", uid: "uid-1", namespace: "default", attempt: 0 },
    hostname: "web",
    logDirectory: join(machine.dir, "logs"),
    labels: { app: "web" },
    linux: {
      cgroupParent: `${machine.cgroupRoot}/pod1`,
      securityContext: { namespaceOptions: { pid: NAMESPACE_MODE.CONTAINER } },
    },
  };
  const { podSandboxId } = await cri.runtime.runPodSandbox({ config });
  const sandbox = (await cri.runtime.podSandboxStatus({ podSandboxId })).status;
  assert.equal(sandbox?.state, SANDBOX_STATE.READY);
  assert.match(sandbox?.network?.ip ?? "", /^10\.244\.0\./);
  const { containerId } = await cri.runtime.createContainer({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: BUSYBOX },
      command: ["sh", "-c", "echo hello $NAME; trap 'exit 7' TERM; sleep 1000 & wait"],
      envs: [{ key: "NAME", value: Buffer.from("world") }],
      logPath: "main.log",
      labels: { part: "main" },
      linux: {
        resources: { memoryLimitInBytes: 64 * 1024 * 1024, cpuShares: 128 },
        securityContext: { namespaceOptions: { pid: NAMESPACE_MODE.CONTAINER } },
      },
    },
  });
  await cri.runtime.startContainer({ containerId });
  const running = (await cri.runtime.containerStatus({ containerId })).status;
  assert.equal(running?.state, CONTAINER_STATE.RUNNING);
  assert.equal(running?.labels.part, "main");
  assert.ok(running.startedAt > 1_600_000_000_000_000_000n);

  const executed = await cri.runtime.execSync({
    containerId,
    cmd: ["sh", "-c", "echo out; echo err >&2; exit 3"],
    timeout: 10,
  });
  const { stdout, stderr, exitCode } = executed;
  assert.deepEqual(
    [Buffer.from(stdout).toString(), Buffer.from(stderr).toString(), exitCode],
    ["out\n", "err\n", 3],
  );

  await cri.runtime.stopContainer({ containerId, timeout: 10 });
  const exited = (await cri.runtime.containerStatus({ containerId })).status;
  assert.deepEqual([exited?.state, exited?.exitCode], [CONTAINER_STATE.EXITED, 7]);

  await cri.runtime.stopPodSandbox({ podSandboxId });
  await cri.runtime.removePodSandbox({ podSandboxId });
  assert.deepEqual((await cri.runtime.listPodSandbox({})).items, []);
  await assert.rejects(
    cri.runtime.containerStatus({ containerId }),
    (error) => error instanceof GrpcError && error.code === GRPC_CODES.NOT_FOUND,
  );
}, 60_000);
