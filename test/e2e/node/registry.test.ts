/** Pulls from Debian's docker-registry on loopback: anonymous, with imagePullSecrets, with a plug-in. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

const OPEN = "127.0.0.1:5601";
const CLOSED = "127.0.0.1:5602";
/** bcrypt of "secret". */
const PASSWORD_LINE = "user:$2y$05$c5lbs1FUV/A6LqQ1ZK7op.Tl9icMqqnBitE9eN0NuVmPWiq25Ts2K";
const LONG = { timeoutMs: 90_000, everyMs: 200 };
let cluster: NodeCluster;

beforeAll(async () => {
  const why = missingProgram("docker-registry");
  if (why !== undefined) throw new Error(why);
  cluster = await startNodeCluster((dir) => {
    const file = join(dir, "credential-providers.yaml");
    writeFileSync(file, JSON.stringify(providerConfig()));
    mkdirSync(join(dir, "plugins"));
    const auth = { [CLOSED]: { username: "user", password: "secret" } };
    const answer = {
      kind: "CredentialProviderResponse",
      apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      cacheKeyType: "Registry",
      auth,
    };
    const program = `#!/bin/sh\ncat > ${join(dir, "request.json")}\necho '${JSON.stringify(answer)}'\n`;
    writeFileSync(join(dir, "plugins/provider"), program);
    chmodSync(join(dir, "plugins/provider"), 0o755);
    return [
      ...["--image-credential-provider-config", file],
      ...["--image-credential-provider-bin-dir", join(dir, "plugins")],
    ];
  });
  await startRegistries();
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("registry", () => {
  test("imagePullPolicy Always: an image is pulled from a registry without authentication", async () => {
    await cluster.apply(pod("open", { containers: [container(`${OPEN}/busybox:1`)] }));
    await running("open");
    assert.match(
      await messagesOf("open"),
      /Successfully pulled image "127\.0\.0\.1:5601\/busybox:1" in /,
    );
  }, 120_000);

  test("imagePullSecrets: ErrImagePull without them, Running with them", async () => {
    await cluster.apply(pod("refused", { containers: [container(`${CLOSED}/secrets/busybox:1`)] }));
    await until(async () => {
      const [main] = (await cluster.pod("refused")).status.containerStatuses ?? [];
      return /ErrImagePull|ImagePullBackOff/.test(main?.state.waiting?.reason ?? "");
    }, LONG);
    const server = `--docker-server=${CLOSED}`;
    await cluster.kubectl(
      ...["create", "secret", "docker-registry", "login", server],
      ...["--docker-username=user", "--docker-password=secret"],
    );
    const spec = { imagePullSecrets: [{ name: "login" }] };
    await cluster.apply(
      pod("allowed", { ...spec, containers: [container(`${CLOSED}/secrets/busybox:1`)] }),
    );
    await running("allowed");
  }, 120_000);

  test("credential provider plug-in: its credentials are used for images that matchImages is for", async () => {
    await cluster.apply(pod("plugin", { containers: [container(`${CLOSED}/plugin/busybox:1`)] }));
    await running("plugin");
    const { stdout } = await cluster.machine.run("cat", [
      join(cluster.machine.dir, "request.json"),
    ]);
    assert.deepEqual(JSON.parse(stdout), {
      kind: "CredentialProviderRequest",
      apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      image: `${CLOSED}/plugin/busybox:1`,
    });
  }, 120_000);
});

function providerConfig(): object {
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1", kind: "CredentialProviderConfig" },
    providers: [
      {
        ...{ name: "provider", matchImages: [`${CLOSED}/plugin`], defaultCacheDuration: "1m" },
        apiVersion: "credentialprovider.kubelet.k8s.io/v1",
      },
    ],
  };
}

async function startRegistries(): Promise<void> {
  const { machine, runtime } = cluster;
  const password = join(machine.dir, "htpasswd");
  await writeFile(password, `${PASSWORD_LINE}\n`);
  const settings = [
    [OPEN, {}],
    [CLOSED, { auth: { htpasswd: { realm: "test", path: password } } }],
  ] as const;
  for (const [addr, more] of settings) {
    const name = addr.split(":")[1];
    const storage = { filesystem: { rootdirectory: join(machine.dir, `registry-${name}`) } };
    const config = { version: 0.1, storage, http: { addr }, ...more };
    const file = join(machine.dir, `registry-${name}.yml`);
    await writeFile(file, JSON.stringify(config));
    machine.start("docker-registry", ["serve", file]);
  }
  const ctr = ["--address", runtime.endpoint.replace("unix://", ""), "--namespace", "k8s.io"];
  const push = async (target: string, more: readonly string[]): Promise<void> => {
    await machine.run("ctr", [...ctr, "images", "tag", "--force", BUSYBOX, target]);
    await until(async () => {
      const args = [...ctr, "images", "push", "--plain-http", ...more, target];
      return (await machine.run("ctr", args)).exitCode === 0;
    }, LONG);
    await machine.run("ctr", [...ctr, "images", "rm", target]);
  };
  await push(`${OPEN}/busybox:1`, []);
  await push(`${CLOSED}/secrets/busybox:1`, ["--user", "user:secret"]);
  await push(`${CLOSED}/plugin/busybox:1`, ["--user", "user:secret"]);
}

async function messagesOf(name: string): Promise<string> {
  const selector = `involvedObject.name=${name}`;
  const path = "jsonpath={.items[*].message}";
  return cluster.kubectl("get", "events", "--field-selector", selector, "-o", path);
}

async function running(name: string): Promise<void> {
  await until(async () => (await cluster.pod(name)).status.phase === "Running", LONG).catch(
    async () => {
      throw new Error(`${name} does not run: ${await messagesOf(name)}`);
    },
  );
}

function container(image: string): Record<string, unknown> {
  return { name: "main", image, imagePullPolicy: "Always", command: ["sleep", "1000"] };
}

function pod(name: string, spec: object): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}
