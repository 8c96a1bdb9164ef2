/** The upstream kubectl against the API server over HTTPS: what people type every day. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { DESCRIPTIONS_FILE, writeDescriptions } from "../../tools/generate-descriptions.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const missing = missingProgram("kubectl");
/**
 * Most of the time goes into starting kubectl some two hundred times. All of them share the machine,
 * so that each test takes about as long as the work of the whole group does.
 */
const GROUP = { concurrent: true, timeout: 240_000 };

let server: TestServer;

beforeAll(async () => {
  if (missing !== undefined) return;
  if (!existsSync(DESCRIPTIONS_FILE)) writeDescriptions();
  server = await startTestServer({ controllers: true });
});

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
});

afterAll(async () => {
  await (server as TestServer | undefined)?.[Symbol.asyncDispose]();
});

interface Run {
  readonly program?: string;
  readonly input?: string;
  readonly env?: Record<string, string>;
  /** The exit code that is wanted. */
  readonly code?: number;
  /** Ends kubectl by force as soon as the output has this many lines. */
  readonly linesMax?: number;
}

/** Words, or a text of words. Answers what was printed on both outputs. */
function kubectl(command: string | readonly string[], run: Run = {}): Promise<string> {
  const words = typeof command === "string" ? command.split(" ") : command;
  const child = spawn(run.program ?? "kubectl", words, {
    env: {
      PATH: process.env.PATH,
      HOME: server.directory, // kubectl keeps what it discovered there
      KUBECONFIG: server.kubeconfig,
      ...run.env,
    },
  });
  let output = "";
  const collect = (chunk: Buffer): void => {
    output += chunk;
    if (run.linesMax !== undefined && output.split("\n").length > run.linesMax) child.kill();
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  child.stdin.end(run.input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (run.linesMax !== undefined || code === (run.code ?? 0)) resolve(output);
      else reject(new Error(`kubectl ${words.join(" ")} ended with ${code}: ${output}`));
    });
  });
}

async function namespaceOf(name: string): Promise<void> {
  await kubectl(`create namespace ${name}`);
  await kubectl(`wait --for=create serviceaccount/default -n ${name} --timeout=2m`);
}

const CONFIG = (value: string): string => `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: ${value}
`;

/** An editor that replaces a text in the file it is given. */
function editor(from: string, to: string): Record<string, string> {
  const folder = join(server.directory, "editors");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${from}-${to}.sh`);
  writeFileSync(file, `#!/bin/sh\nsed -i 's/${from}/${to}/' "$1"\n`, { mode: 0o700 });
  return { KUBE_EDITOR: file, EDITOR: file };
}

describe("kubectl", GROUP, () => {
  test("create, get in every form, describe, delete", async () => {
    await kubectl("create namespace forms");
    await kubectl("create configmap settings --from-literal=colour=red -n forms");
    assert.match(await kubectl("get cm -n forms"), /^NAME\s+DATA\s+AGE\nkube-root|settings\s+1\s+/);
    const yaml = await kubectl("get configmap settings -n forms -o yaml");
    assert.match(yaml, /^apiVersion: v1\ndata:\n {2}colour: red\nkind: ConfigMap\nmetadata:\n/);
    const json = JSON.parse(await kubectl("get configmap settings -n forms -o json"));
    assert.equal(json.data.colour, "red");
    assert.equal(
      await kubectl("get configmap settings -n forms -o jsonpath={.data.colour}"),
      "red",
    );
    assert.equal(await kubectl("get cm settings -n forms -o name"), "configmap/settings\n");
    assert.match(
      await kubectl("get cm settings -n forms -o custom-columns=C:.data.colour"),
      /^C\nred\n/,
    );
    assert.match(
      await kubectl("describe cm settings -n forms"),
      /Name:\s+settings[\s\S]*colour:\n----\nred/,
    );
    assert.match(await kubectl("get cm -A --chunk-size=2"), /forms\s+settings/);
    assert.match(
      await kubectl("get cm nothing -n forms", { code: 1 }),
      /Error from server \(NotFound\): configmaps "nothing" not found/,
    );
    assert.match(
      await kubectl("create configmap settings -n forms", { code: 1 }),
      /\(AlreadyExists\)|already exists/,
    );
    assert.match(await kubectl("delete cm settings -n forms"), /^configmap "settings" deleted/);
  });

  test("apply on the client's side, diff, prune by hand", async () => {
    await kubectl("create namespace applied");
    const apply = (value: string) => kubectl("apply -n applied -f -", { input: CONFIG(value) });
    assert.equal(await apply("red"), "configmap/settings created\n");
    assert.equal(await apply("red"), "configmap/settings unchanged\n");
    const diff = await kubectl("diff -n applied -f -", { input: CONFIG("blue"), code: 1 });
    assert.match(diff, /^- {2}colour: red\n\+ {2}colour: blue$/m);
    assert.equal(await apply("blue"), "configmap/settings configured\n");
    await kubectl("diff -n applied -f -", { input: CONFIG("blue") });
    const applied = await kubectl("apply view-last-applied cm/settings -n applied");
    assert.match(applied, /colour: blue/);
    const dry = await kubectl("apply -n applied --dry-run=server -f -", { input: CONFIG("grey") });
    assert.equal(dry, "configmap/settings configured (server dry run)\n");
    assert.match(await kubectl("get cm settings -n applied -o yaml"), /colour: blue/);
    assert.match(
      await kubectl("replace -n applied -f -", { input: CONFIG("pink") }),
      /settings replaced/,
    );
    assert.match(await kubectl("delete -n applied -f -", { input: CONFIG("pink") }), /deleted/);
  });

  test("apply on the server's side, with a conflict", async () => {
    await kubectl("create namespace serverside");
    const apply = (value: string, flags: string, code = 0) =>
      kubectl(`apply --server-side -n serverside ${flags} -f -`, { input: CONFIG(value), code });
    assert.equal(
      await apply("red", "--field-manager=one"),
      "configmap/settings serverside-applied\n",
    );
    assert.match(
      await apply("blue", "--field-manager=two", 1),
      /Apply failed with 1 conflict: conflict with "one": \.data\.colour/,
    );
    await apply("blue", "--field-manager=two --force-conflicts");
    const managed = await kubectl("get cm settings -n serverside -o yaml --show-managed-fields");
    assert.match(managed, /f:colour: \{\}\n {4}manager: two\n {4}operation: Apply/);
  });

  test("edit, patch in three ways, label, annotate", async () => {
    await kubectl("create namespace edited");
    await kubectl("create cm settings --from-literal=colour=red -n edited");
    assert.equal(
      await kubectl("edit cm settings -n edited", { env: editor("red", "blue") }),
      "configmap/settings edited\n",
    );
    const patches = [
      ["merge", '{"data":{"merged":"1"}}'],
      ["strategic", '{"data":{"strategic":"1"}}'],
      ["json", '[{"op":"add","path":"/data/json","value":"1"}]'],
    ] as const;
    for (const [type, patch] of patches) {
      const said = await kubectl([
        "patch",
        "cm",
        "settings",
        "-nedited",
        "--type",
        type,
        "-p",
        patch,
      ]);
      assert.equal(said, "configmap/settings patched\n");
    }
    assert.equal(
      await kubectl("label cm settings team=a -n edited"),
      "configmap/settings labeled\n",
    );
    assert.match(
      await kubectl("label cm settings team=b -n edited", { code: 1 }),
      /'team' already has a value \(a\), and --overwrite is false/,
    );
    assert.equal(
      await kubectl("annotate cm settings note=x -n edited"),
      "configmap/settings annotated\n",
    );
    const { metadata, data } = JSON.parse(
      await kubectl("get cm -l team=a -n edited -o jsonpath={.items[0]}"),
    );
    assert.deepEqual(data, { colour: "blue", merged: "1", strategic: "1", json: "1" });
    assert.deepEqual(metadata.annotations, { note: "x" });
  });

  test("a deployment: created, scaled, a new image, its history, undone, deleted", async () => {
    await namespaceOf("rolled");
    await kubectl("create deployment web --image=nginx:1 --replicas=2 -n rolled");
    assert.match(
      await kubectl("rollout status deployment/web -n rolled --timeout=2m"),
      /deployment "web" successfully rolled out/,
    );
    assert.match(
      await kubectl("get deployment web -n rolled -o wide"),
      /NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR\nweb\s+2\/2\s+2\s+2\s+\S+\s+nginx\s+nginx:1\s+app=web\n/,
    );
    assert.match(await kubectl("get pods -n rolled"), /web-\S+\s+0\/1\s+Running\s+0/);
    await kubectl("scale deployment/web --replicas=3 -n rolled");
    await kubectl("set image deployment/web nginx=nginx:2 -n rolled");
    await kubectl("rollout status deployment/web -n rolled --timeout=2m");
    assert.match(
      await kubectl("rollout history deployment/web -n rolled"),
      /REVISION\s+CHANGE-CAUSE\n1\s+<none>\n2\s+<none>/,
    );
    assert.match(await kubectl("rollout undo deployment/web -n rolled"), /rolled back/);
    await kubectl("rollout status deployment/web -n rolled --timeout=2m");
    assert.match(
      await kubectl("describe deployment web -n rolled"),
      /Image:\s+nginx:1[\s\S]*ScalingReplicaSet/,
    );
    assert.match(await kubectl("events -n rolled --for deployment/web"), /ScalingReplicaSet/);
    assert.match(await kubectl("get events -n rolled"), /deployment\/web\s+Scaled up replica set/);
    await kubectl("expose deployment web --port=80 -n rolled");
    assert.match(
      await kubectl("get service web -n rolled"),
      /web\s+ClusterIP\s+10\.\S+\s+<none>\s+80\/TCP/,
    );
    await kubectl("delete deployment web -n rolled --timeout=2m");
    await kubectl("wait --for=delete pods -l app=web -n rolled --timeout=2m");
  });

  test("run, wait, get --watch, delete a pod and its namespace", async () => {
    await namespaceOf("lone");
    const watching = kubectl("get pods -n lone --watch --output-watch-events", { linesMax: 3 });
    await kubectl("run single --image=busybox -n lone --labels=a=b");
    await kubectl("wait --for=condition=Ready pod/single -n lone --timeout=2m");
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    watching.then(over, over);
    // Again if the watch began late.
    for (let n = 0; !isOver; n++) await kubectl(`label pod single -n lone seen=n${n} --overwrite`);
    assert.match(
      await watching,
      /^EVENT\s+NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\nADDED\s+single\s+0\/1\s+(?:Pending|Running)\s+0\s+\S+\nMODIFIED\s+single\s+0\/1\s+/,
    );
    assert.match(
      await kubectl("describe pod single -n lone"),
      /Name:\s+single\nNamespace:\s+lone[\s\S]*Service Account:\s+default[\s\S]*Status:\s+Running[\s\S]*QoS Class:\s+BestEffort/,
    );
    await kubectl("delete pod single -n lone --timeout=2m");
    await kubectl("delete namespace lone --timeout=2m");
    assert.match(await kubectl("get ns lone", { code: 1 }), /NotFound/);
  });

  test("explain, with descriptions", async () => {
    assert.match(
      await kubectl("explain pod.spec.containers.image"),
      /KIND:\s+Pod\nVERSION:\s+v1\n\nFIELD: image <string>\n+DESCRIPTION:\n\s+Container image name/,
    );
    assert.match(
      await kubectl("explain deployments.spec"),
      /GROUP:\s+apps\n[\s\S]*FIELDS:\n\s+minReadySeconds\s+<integer>\n\s+Minimum number of seconds/,
    );
    assert.match(await kubectl("explain cronjob --recursive"), /jobTemplate\s+<JobTemplateSpec>/);
  });

  test("who am I, what may I", async () => {
    assert.match(await kubectl("auth whoami"), /Username\s+kubernetes-admin/);
    assert.equal(await kubectl("auth can-i create pods"), "yes\n");
    assert.equal(await kubectl("auth can-i get pods --as=nobody", { code: 1 }), "no\n");
    assert.match(
      await kubectl("get pods --as=nobody", { code: 1 }),
      /pods is forbidden: User "nobody" cannot list resource "pods" in API group "" in the namespace "default"/,
    );
    assert.match(await kubectl("auth can-i --list --as=nobody"), /selfsubjectreviews/);
    await kubectl("create namespace granted");
    await kubectl("create role reader --verb=get,list --resource=configmaps -n granted");
    await kubectl("create rolebinding reads --role=reader --user=jane -n granted");
    assert.equal(await kubectl("auth can-i list cm -n granted --as=jane"), "yes\n");
    assert.equal(await kubectl("auth can-i list cm --as=jane", { code: 1 }), "no\n");
    await kubectl("create serviceaccount robot -n granted");
    assert.match(await kubectl("create token robot -n granted"), /^eyJ[^.]+\.[^.]+\.[^.]+$/);
  });

  test("what is there: api-resources, api-versions, cluster-info, version, config, raw paths", async () => {
    const resources = await kubectl("api-resources");
    assert.match(resources, /^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m);
    assert.match(resources, /^nodes\s+no\s+v1\s+false\s+Node$/m);
    const versions = (await kubectl("api-versions")).split("\n");
    for (const version of ["v1", "apps/v1", "rbac.authorization.k8s.io/v1"]) {
      assert.ok(versions.includes(version), version);
    }
    assert.match(
      await kubectl("cluster-info"),
      /Kubernetes control plane.* is running at .*https:\/\/127/,
    );
    assert.match(await kubectl("version"), /Server Version: .*v1\.36\.4/);
    assert.match(await kubectl("config view"), /certificate-authority-data: DATA\+OMITTED/);
    assert.equal(await kubectl("config current-context"), "k8ts\n");
    assert.equal(await kubectl("get --raw /readyz"), "ok");
    assert.match(
      await kubectl("get --raw /livez?verbose"),
      /\[\+\]ping ok[\s\S]*livez check passed/,
    );
    assert.match(await kubectl("top pods", { code: 1 }), /Metrics API not available/);
    assert.match(
      await kubectl("get nonsense", { code: 1 }),
      /doesn't have a resource type "nonsense"/,
    );
  });

  test("a node: described, cordoned, tainted, drained", async () => {
    const node =
      "apiVersion: v1\nkind: Node\nmetadata:\n  name: worker\n  labels: {zone: a}\nstatus:\n  capacity: {cpu: '2', memory: 4Gi, pods: '10'}\n";
    assert.equal(await kubectl("create -f -", { input: node }), "node/worker created\n");
    assert.equal(await kubectl("cordon worker"), "node/worker cordoned\n");
    assert.match(
      await kubectl("get nodes -o wide -l zone=a"),
      /^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\s+INTERNAL-IP\s+EXTERNAL-IP\s+OS-IMAGE\s+KERNEL-VERSION\s+CONTAINER-RUNTIME\nworker\s+\S+,SchedulingDisabled\s+<none>/,
    );
    assert.equal(await kubectl("taint node worker only=me:NoSchedule"), "node/worker tainted\n");
    assert.match(
      await kubectl("describe node worker"),
      /Taints:\s+(?:.*\n\s+)*only=me:NoSchedule[\s\S]*Unschedulable:\s+true[\s\S]*Non-terminated Pods:\s+\(0 in total\)/,
    );
    assert.equal(await kubectl("taint node worker only=me:NoSchedule-"), "node/worker untainted\n");
    assert.match(await kubectl("drain worker"), /already cordoned\n[\s\S]*node\/worker drained\n$/);
    assert.equal(await kubectl("uncordon worker"), "node/worker uncordoned\n");
    assert.match(await kubectl("top node worker", { code: 1 }), /Metrics API not available/);
    assert.equal(await kubectl("delete node worker"), 'node "worker" deleted\n');
  });

  test("debug puts a container into a pod that runs", async () => {
    await namespaceOf("debugged");
    await kubectl("run target --image=busybox -n debugged");
    await kubectl("wait --for=condition=Ready pod/target -n debugged --timeout=2m");
    await kubectl("debug target --image=busybox:debug -c looking -n debugged");
    const path = "{.spec.ephemeralContainers[0].name}={.spec.ephemeralContainers[0].image}";
    assert.equal(
      await kubectl(["get", "pod", "target", "-ndebugged", "-o", `jsonpath=${path}`]),
      "looking=busybox:debug",
    );
    await kubectl("delete namespace debugged --wait=false");
  });

  test("proxy hands requests on, --raw asks for paths", async () => {
    const child = spawn("kubectl", ["proxy", "--port=0"], {
      env: { PATH: process.env.PATH, HOME: server.directory, KUBECONFIG: server.kubeconfig },
    });
    try {
      const port = await new Promise<string>((resolve) => {
        child.stdout.on("data", (chunk) => {
          const found = /Starting to serve on 127\.0\.0\.1:(\d+)/.exec(String(chunk))?.[1];
          if (found !== undefined) resolve(found);
        });
      });
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces/kube-system`);
      const { metadata } = (await answer.json()) as { metadata: { name: string } };
      assert.equal(metadata.name, "kube-system");
      const watched = await fetch(
        `http://127.0.0.1:${port}/api/v1/persistentvolumes?watch=1&timeoutSeconds=1`,
      );
      assert.equal(await watched.text(), "");
    } finally {
      child.kill();
    }
    const raw = JSON.parse(await kubectl("get --raw /api/v1/namespaces/default"));
    assert.equal(raw.kind, "Namespace");
    await kubectl("create namespace raw");
    const made = await kubectl("create --raw /api/v1/namespaces/raw/configmaps -f -", {
      input: JSON.stringify({ metadata: { name: "settings" } }),
    });
    assert.equal(JSON.parse(made).metadata.name, "settings");
    const gone = await kubectl("delete --raw /api/v1/namespaces/raw/configmaps/settings");
    assert.equal(JSON.parse(gone).status, "Success");
    assert.match(await kubectl("get --raw /nothing", { code: 1 }), /NotFound|could not find/);
  });

  test("rollout restart, pause and resume; autoscale; set", async () => {
    await namespaceOf("tuned");
    await kubectl("create deployment web --image=nginx:1 -n tuned");
    assert.match(await kubectl("rollout restart deployment/web -n tuned"), /web restarted/);
    assert.match(await kubectl("rollout pause deployment/web -n tuned"), /web paused/);
    await kubectl("set env deployment/web COLOUR=red -n tuned");
    await kubectl("set resources deployment/web --limits=cpu=200m -n tuned");
    assert.match(await kubectl("rollout resume deployment/web -n tuned"), /web resumed/);
    await kubectl("rollout status deployment/web -n tuned --timeout=2m");
    assert.match(
      await kubectl("get deployment web -n tuned -o yaml"),
      /restartedAt[\s\S]*COLOUR[\s\S]*cpu: 200m/,
    );
    await kubectl("autoscale deployment/web --min=1 --max=3 --cpu-percent=50 -n tuned");
    assert.match(await kubectl("get hpa -n tuned"), /web\s+Deployment\/web\s+.*\s+1\s+3\s+\d/);
    await kubectl("delete deployment web -n tuned --cascade=orphan");
    assert.match(await kubectl("get rs -n tuned"), /web-/);
    await kubectl("delete namespace tuned --wait=false");
  });

  test("lists everything that can be listed", async () => {
    const names = await kubectl("api-resources --verbs=list -o name");
    const all = names.trim().split("\n");
    assert.ok(all.length > 50, names);
    const listed = await kubectl(`get ${all.join(",")} -A --ignore-not-found -o name`);
    for (const one of ["namespace/default", "service/kubernetes", "endpointslice.discovery"]) {
      assert.ok(listed.includes(one), one);
    }
  });

  test("warnings and refusals are shown", async () => {
    const bad = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"UPPER"},"spec":{}}';
    const refused = await kubectl("create --validate=false -f -", { input: bad, code: 1 });
    assert.match(refused, /The Pod "UPPER" is invalid:/);
    assert.match(refused, /metadata\.name: Invalid value: "UPPER"/);
    const unknown = `${CONFIG("red")}colour: green\n`;
    assert.match(
      await kubectl("create -f -", { input: unknown, code: 1 }),
      /strict decoding error: unknown field "colour"/,
    );
    assert.match(
      await kubectl("create --validate=warn --dry-run=server -f -", { input: unknown }),
      /Warning: unknown field "colour"/,
    );
  });
});

describe("older kubectl", GROUP, () => {
  for (const { version, program } of olderPrograms()) {
    test(`${version}: the usual`, async () => {
      const use = (command: string, run: Run = {}) => kubectl(command, { ...run, program });
      const namespace = `old-${version.replace(".", "-")}`;
      await use(`create namespace ${namespace}`);
      assert.match(
        await use(`apply -n ${namespace} -f -`, { input: CONFIG("red") }),
        /settings created/,
      );
      assert.match(
        await use(`apply --server-side --force-conflicts -n ${namespace} -f -`, {
          input: CONFIG("blue"),
        }),
        /serverside-applied/,
      );
      assert.match(await use(`get cm settings -n ${namespace} -o yaml`), /colour: blue/);
      assert.match(await use(`get cm -n ${namespace}`), /^NAME\s+DATA\s+AGE\n/);
      assert.match(await use("explain pod.spec.nodeName"), /DESCRIPTION:\n\s+NodeName/);
      await use(`delete cm settings -n ${namespace}`);
    });
  }
});

/** Other versions that lie beside the one on the PATH. */
function olderPrograms(): { version: string; program: string }[] {
  if (missing !== undefined) return [];
  const found = spawnSync("sh", ["-c", "command -v kubectl"], { encoding: "utf8" }).stdout.trim();
  const folder = dirname(realpathSync(found));
  return [27, 28, 29, 30, 31, 32, 33]
    .map((minor) => `1.${minor}`)
    .map((version) => ({ version, program: join(folder, `kubectl.${version}`) }))
    .filter(({ program }) => existsSync(program));
}
