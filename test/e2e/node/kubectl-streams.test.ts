/** Streams of a real container through kubectl: logs, attach, cp, port-forward, debug and run. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000 };
const WAIT = "trap 'exit 0' TERM; while :; do sleep 0.2; done";

let cluster: NodeCluster;

beforeAll(async () => {
  // The configuration comes from a file and from a folder of drop-ins: the last one wins.
  cluster = await startNodeCluster(
    (dir) => ["--config", join(dir, "kubelet.yaml"), "--config-dir", join(dir, "kubelet.d")],
    { prepare: ({ dir }) => writeConfiguration(dir) },
  );
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

describe.concurrent("kubectl", () => {
  test("--config and --config-dir: drop-ins override the file in the order of their names", async () => {
    const raw = `/api/v1/nodes/${NODE}/proxy/configz`;
    const { kubeletconfig } = JSON.parse(await cluster.kubectl("get", "--raw", raw)) as {
      kubeletconfig: Record<string, unknown>;
    };
    assert.equal(kubeletconfig.maxPods, 77);
    assert.equal(kubeletconfig.podPidsLimit, 999);
    assert.equal(await jsonPath("node", NODE, "{.status.capacity.pods}"), "77");
  }, 120_000);

  test("logs --previous, --all-containers --prefix, --since and --timestamps", async () => {
    const crash = { ...container("crash", "echo run; exit 1") };
    await cluster.apply(pod("two", [crash, container("calm", `echo calm; ${WAIT}`)]));
    await until(async () => Number(await restarts("two", "crash")) > 0, LONG);
    const previous = await cluster.kubectl("logs", "two", "-c", "crash", "--previous");
    assert.equal(previous, "run\n");
    const all = await cluster.kubectl("logs", "two", "--all-containers", "--prefix");
    assert.match(all, /^\[pod\/two\/crash\] run$/m);
    assert.match(all, /^\[pod\/two\/calm\] calm$/m);
    const stamped = await cluster.kubectl("logs", "two", "-c", "calm", "--timestamps");
    assert.match(stamped, /^\d{4}-\d\d-\d\dT[\d:.]+Z calm$/m);
    assert.equal(await cluster.kubectl("logs", "two", "-c", "calm", "--since=1h"), "calm\n");
    const none = await cluster.tryKubectl(["logs", "two", "-c", "calm", "--previous"]);
    assert.match(none.stderr, /previous terminated container "calm" in pod "two" not found/);
  }, 120_000);

  test("attach -i: what is typed reaches the container's stdin, its output comes back", async () => {
    const echo = { ...container("main", "while read line; do echo got $line; done"), stdin: true };
    await cluster.apply(pod("attached", [{ ...echo, stdinOnce: true }]));
    await running("attached");
    const { stdout, stderr } = await cluster.tryKubectl(["attach", "-i", "attached"], "one\ntwo\n");
    assert.equal(stdout, "got one\ngot two\n", stderr);
  }, 120_000);

  test("cp: a file and a folder go into a container and come back", async () => {
    await cluster.apply(pod("copied", [withTar("main", WAIT)]));
    await running("copied");
    const { dir } = cluster.machine;
    const text = "some bytes\n".repeat(100_000);
    await mkdir(join(dir, "source/below"), { recursive: true });
    await writeFile(join(dir, "source/below/file"), text);
    await cluster.kubectl("cp", join(dir, "source"), "copied:/tmp/target");
    await cluster.kubectl("cp", "copied:/tmp/target/below/file", join(dir, "back"));
    assert.equal(await readFile(join(dir, "back"), "utf8"), text);
  }, 120_000);

  test("port-forward: several connections one after the other reach a port of the pod", async () => {
    const serve =
      "mkdir -p /tmp/www; echo forwarded > /tmp/www/index.html; httpd -f -p 8080 -h /tmp/www";
    await cluster.apply(pod("served", [container("main", serve)]));
    await running("served");
    const config = join(cluster.machine.dir, "data/kubeconfig");
    const forward = ["port-forward", "pod/served", "18080:8080"];
    cluster.machine.start("kubectl", ["--kubeconfig", config, ...forward]); // ends with the machine
    const ask = async (): Promise<string> => {
      const address = "http://127.0.0.1:18080/";
      return (await cluster.machine.run("busybox", ["wget", "-q", "-O", "-", address])).stdout;
    };
    await until(async () => (await ask()) === "forwarded\n", LONG);
    assert.equal(await ask(), "forwarded\n");
  }, 120_000);

  test("debug: into a pod with --target, as a copy with --copy-to, and of a node", async () => {
    await cluster.apply(pod("broken", [container("main", WAIT)]));
    await running("broken");
    const image = ["--image", BUSYBOX, "--image-pull-policy=Never", "--profile=general"];
    await cluster.kubectl(
      ...["debug", "broken", ...image, "--target=main", "-c", "look"],
      ...["--", "sh", "-c", "ps | grep -c 'sleep 0.2'"],
    );
    await until(async () => /^[1-9]/.test(await logs("broken", "look")), LONG);
    await cluster.kubectl(
      ...["debug", "broken", "--copy-to=fixed", "--container=main", "--image-pull-policy=Never"],
      ...["--profile=general", "--", "sh", "-c", `echo copied; ${WAIT}`],
    );
    await until(async () => (await logs("fixed", "main")) === "copied\n", LONG);
    const said = await cluster.kubectl(
      ...["debug", `node/${NODE}`, ...image, "--", "sh", "-c", "chroot /host hostname"],
    );
    const name = /node-debugger-\S+/.exec(said)?.[0].replace(/[.,]$/, "") ?? "";
    await until(async () => (await logs(name, "debugger")) === "k8ts-node\n", LONG);
  }, 120_000);

  test("run -i --rm: the output is shown, the exit code is passed on and the pod is gone", async () => {
    const run = (name: string, script: string): ReturnType<NodeCluster["tryKubectl"]> =>
      cluster.tryKubectl(
        [
          ...["run", name, "-i", "--rm", "--restart=Never", `--image=${BUSYBOX}`],
          ...["--image-pull-policy=Never", "--quiet", "--", "sh", "-c", script],
        ],
        "a line\n",
      );
    const read = await run("once", "read line; echo read $line");
    assert.match(read.stdout, /^read a line$/m);
    assert.equal((await run("failing", "exit 7")).exitCode, 7);
    assert.doesNotMatch(await cluster.kubectl("get", "pods", "-o", "name"), /once|failing/);
  }, 120_000);

  test("exec -i: 4 MB of stdin arrive unchanged, and stderr is a stream of its own", async () => {
    await cluster.apply(pod("piped", [container("main", WAIT)]));
    await running("piped");
    const text = "0123456789abcde\n".repeat(256 * 1024);
    const sum = ["exec", "-i", "piped", "--", "busybox", "sha256sum"];
    const { stdout: digest } = await cluster.tryKubectl(sum, text);
    assert.equal(digest, `${createHash("sha256").update(text).digest("hex")}  -\n`);
    const both = ["exec", "piped", "--", "sh", "-c", "echo out; echo err >&2"];
    const { stdout, stderr } = await cluster.tryKubectl(both);
    assert.deepEqual([stdout, stderr], ["out\n", "err\n"]);
  }, 120_000);
});

test("--register-node=false: the Node is not made by the kubelet; one that is made for it becomes Ready", async () => {
  await cluster.stopKubelet("SIGTERM");
  await cluster.kubectl("delete", "node", NODE);
  const seen = cluster.log().length;
  cluster.startKubelet("--register-node=false");
  const refused = /not registered yet.*nodes \\?"node-1\\?" not found/;
  await until(() => refused.test(cluster.log().slice(seen)), LONG);
  assert.equal(await cluster.kubectl("get", "nodes", "-o", "name"), "");
  const labels = { "example.com/made-by": "someone-else" };
  await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: NODE, labels } });
  const ready = '{.status.conditions[?(@.type=="Ready")].status}';
  await until(async () => (await jsonPath("node", NODE, ready)) === "True", LONG);
  assert.equal(
    await jsonPath("node", NODE, "{.metadata.labels.example\\.com/made-by}"),
    "someone-else",
  );
}, 120_000);

async function writeConfiguration(dir: string): Promise<void> {
  const head = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await mkdir(join(dir, "kubelet.d"));
  const files = {
    "kubelet.yaml": { ...head, maxPods: 55, podPidsLimit: 999 },
    "kubelet.d/10-first.conf": { ...head, maxPods: 66 },
    "kubelet.d/20-second.conf": { ...head, maxPods: 77 },
    "kubelet.d/30-ignored.txt": { ...head, maxPods: 88 },
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(dir, name), JSON.stringify(content));
  }
}

function container(name: string, script: string): object {
  return { name, image: BUSYBOX, imagePullPolicy: "Never", command: ["sh", "-c", script] };
}

/** `kubectl cp` needs tar in the container; busybox has it under its own name. */
function withTar(name: string, script: string): object {
  return container(name, `busybox ln -s /bin/busybox /bin/tar; ${script}`);
}

function pod(name: string, containers: readonly object[]): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, containers },
  };
}

function jsonPath(kind: string, name: string, path: string): Promise<string> {
  return cluster.kubectl("get", kind, name, "-o", `jsonpath=${path}`);
}

function restarts(name: string, of: string): Promise<string> {
  const path = `{.status.containerStatuses[?(@.name=="${of}")].restartCount}`;
  return jsonPath("pod", name, path);
}

async function logs(name: string, of: string): Promise<string> {
  return (await cluster.tryKubectl(["logs", name, "-c", of])).stdout;
}

async function running(name: string): Promise<void> {
  await until(async () => (await jsonPath("pod", name, "{.status.phase}")) === "Running", LONG);
}
