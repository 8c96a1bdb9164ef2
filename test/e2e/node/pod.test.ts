/** Pods on a real node: containerd, runc, CNI, cgroups; seen through kubectl. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { NODE, type NodeCluster, type PodView, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000 };

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster((dir) => ["--pod-manifest-path", join(dir, "manifests")]);
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

test("kubectl run: the pod becomes Running and Ready, and is gone after kubectl delete", async () => {
  await cluster.kubectl("run", "web", `--image=${BUSYBOX}`, "--image-pull-policy=Never");
  await isReady("web");
  const { status, metadata } = await cluster.pod("web");
  assert.match(status.podIP ?? "", /^10\.244\.0\./);
  await cluster.kubectl("delete", "pod", "web");
  assert.doesNotMatch(await cluster.kubectl("get", "pods", "-o", "name"), /web/);
  await until(async () => {
    const left = await readdir(join(cluster.machine.dir, "kubelet/pods"));
    return !left.includes(metadata.uid);
  });
}, 120_000);

test("k8ts kubelet: kubectl logs -f --tail, and exec with an exit code go through its server", async () => {
  const loop =
    'for i in 1 2 3; do echo line $i; done; trap "exit 0" TERM; while :; do sleep 1; done';
  await cluster.apply(pod("talk", { containers: [shell(loop)] }));
  await isReady("talk");
  assert.equal(await cluster.kubectl("logs", "talk", "--tail=2"), "line 2\nline 3\n");
  const failed = await cluster.tryKubectl(["exec", "talk", "--", "sh", "-c", "echo out; exit 3"]);
  assert.equal(failed.stdout, "out\n");
  assert.equal(failed.exitCode, 3);
  const following = cluster.tryKubectl(["logs", "-f", "talk"]);
  await cluster.kubectl("delete", "pod", "talk");
  assert.equal((await following).stdout, "line 1\nline 2\nline 3\n");
  const missing = await cluster.tryKubectl(["logs", "talk"]);
  assert.match(missing.stderr, /pods "talk" not found/);
}, 120_000);

describe.concurrent("pods", () => {
  test("env: values, $(VAR), fieldRef, resourceFieldRef, ConfigMap, Secret and service links", async () => {
    await cluster.apply(
      configMap("env-config", { color: "blue", "1": "one" }),
      secret("env-secret", { password: "hunter2" }),
    );
    const container = {
      ...shell("env | sort; echo 'arg $(GREETING) $(MISSING) $$(ESCAPED)'"),
      resources: { limits: { memory: "64Mi" } },
      envFrom: [{ prefix: "CFG_", configMapRef: { name: "env-config" } }],
      env: [
        { name: "NAME", value: "world" },
        { name: "GREETING", value: "hello $(NAME)" },
        { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        { name: "MEM", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
        { name: "PASS", valueFrom: { secretKeyRef: { name: "env-secret", key: "password" } } },
        {
          name: "NONE",
          valueFrom: { configMapKeyRef: { name: "absent", key: "x", optional: true } },
        },
      ],
    };
    await cluster.apply(pod("env", { restartPolicy: "Never", containers: [container] }));
    const { status } = await reaches("env", ({ status }) => status.phase === "Succeeded");
    const log = await logOf("env", "main");
    for (const line of [
      "GREETING=hello world",
      "POD=env",
      `IP=${status.podIP}`,
      "MEM=67108864",
      "PASS=hunter2",
      "CFG_color=blue",
      "arg hello world $(MISSING) $(ESCAPED)",
    ]) {
      assert.ok(log.includes(line), `${line} is not in ${log}`);
    }
    assert.match(log, /^KUBERNETES_SERVICE_HOST=10\./m);
    assert.doesNotMatch(log, /^NONE=/m);
  }, 120_000);

  test("volumes: emptyDir, configMap, secret, downwardAPI, projected token, hostPath and subPath", async () => {
    await cluster.apply(
      configMap("files", { "a.txt": "A", "b.txt": "B" }),
      secret("key", { id: "secret-value" }),
    );
    const mounts = [
      { name: "work", mountPath: "/share" },
      { name: "config", mountPath: "/config" },
      { name: "secret", mountPath: "/secret" },
      { name: "info", mountPath: "/info" },
      { name: "host", mountPath: "/host" },
      { name: "config", mountPath: "/one/file.txt", subPath: "a.txt" },
      { name: "work", mountPath: "/sub", subPathExpr: "dir/$(POD)" },
    ];
    const script = [
      "cat /config/a.txt /config/renamed; echo",
      "stat -L -c %a /config/renamed; cat /secret/id; echo; cat /info/labels; echo",
      "cat /one/file.txt; echo; touch /sub/made; ls /share/dir/volumes",
      "ls -d /host/kubelet",
      "head -c 2 /var/run/secrets/kubernetes.io/serviceaccount/token; echo",
      "ls /var/run/secrets/kubernetes.io/serviceaccount",
    ].join("; ");
    const container = {
      ...shell(script),
      volumeMounts: mounts,
      env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    };
    const items = [
      { key: "a.txt", path: "a.txt" },
      { key: "b.txt", path: "renamed", mode: 0o400 },
    ];
    await cluster.apply(
      pod("volumes", {
        restartPolicy: "Never",
        containers: [container],
        volumes: [
          { name: "work", emptyDir: {} },
          { name: "config", configMap: { name: "files", items } },
          { name: "secret", secret: { secretName: "key" } },
          {
            name: "info",
            downwardAPI: {
              items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }],
            },
          },
          { name: "host", hostPath: { path: cluster.machine.dir, type: "Directory" } },
        ],
      }),
    );
    await reaches("volumes", ({ status }) => status.phase === "Succeeded");
    const log = await logOf("volumes", "main");
    assert.deepEqual(log.trim().split("\n"), [
      "AB",
      "400",
      "secret-value",
      'app="volumes"',
      "A",
      "made",
      "/host/kubelet",
      "ey",
      "ca.crt",
      "namespace",
      "token",
    ]);
  }, 120_000);

  test("configMap volume: a change of the ConfigMap reaches the running container", async () => {
    await cluster.apply(configMap("live", { value: "before" }));
    await cluster.apply(
      pod("live", {
        containers: [
          {
            ...shell("while :; do cat /config/value; echo; sleep 0.2; done"),
            volumeMounts: [{ name: "config", mountPath: "/config" }],
          },
        ],
        volumes: [{ name: "config", configMap: { name: "live" } }],
      }),
    );
    await isReady("live");
    await until(async () => /before/.test(await logOf("live", "main")));
    await cluster.apply(configMap("live", { value: "after" }));
    await until(async () => /after/.test(await logOf("live", "main")));
  }, 120_000);

  test("initContainers run in order, a sidecar stays, regular containers follow", async () => {
    const share = [{ name: "share", mountPath: "/share" }];
    const note = (text: string): string => `echo ${text} >> /share/order`;
    await cluster.apply(
      pod("init", {
        restartPolicy: "Never",
        initContainers: [
          { ...shell(note("one")), name: "one", volumeMounts: share },
          {
            ...shell(`${note("side")}; trap 'echo side-end; exit 0' TERM; sleep 1000 & wait`),
            name: "side",
            restartPolicy: "Always",
            startupProbe: { exec: { command: ["grep", "side", "/share/order"] }, periodSeconds: 1 },
            volumeMounts: share,
          },
          { ...shell(note("two")), name: "two", volumeMounts: share },
        ],
        containers: [{ ...shell(`${note("main")}; cat /share/order`), volumeMounts: share }],
        volumes: [{ name: "share", emptyDir: {} }],
      }),
    );
    const { status } = await reaches("init", ({ status }) => status.phase === "Succeeded");
    const log = await logOf("init", "main");
    assert.deepEqual(log.trim().split("\n"), ["one", "side", "two", "main"]);
    const side = status.initContainerStatuses?.find(({ name }) => name === "side");
    assert.equal(side?.state.terminated?.exitCode, 0);
  }, 120_000);

  test("CrashLoopBackOff: a container that fails is restarted with back-off and keeps its message", async () => {
    const script = "echo last words > /dev/termination-log; exit 3";
    await cluster.apply(pod("crash", { containers: [shell(script)] }));
    const { status } = await reaches("crash", ({ status }) => {
      const [main] = status.containerStatuses ?? [];
      return main?.state.waiting?.reason === "CrashLoopBackOff";
    });
    const [main] = status.containerStatuses ?? [];
    // On a busy machine the first back-off may have passed before its status was asked for.
    const restarts = main?.restartCount ?? 0;
    assert.ok(restarts === 1 || restarts === 2, `${restarts}`);
    assert.deepEqual(
      [main?.lastState.terminated?.exitCode, main?.lastState.terminated?.message?.trim()],
      [3, "last words"],
    );
    assert.match(
      main?.state.waiting?.message ?? "",
      new RegExp(`^back-off ${restarts * 10}s restarting failed container=main`),
    );
    assert.equal(status.phase, "Running");
  }, 120_000);

  test("restartPolicy Never: exit code 1 makes the pod Failed; OnFailure restarts until 0", async () => {
    await cluster.apply(
      pod("never", { restartPolicy: "Never", containers: [shell("exit 1")] }),
      pod("on-failure", {
        restartPolicy: "OnFailure",
        containers: [
          {
            ...shell("if [ -e /share/seen ]; then exit 0; fi; touch /share/seen; exit 1"),
            volumeMounts: [{ name: "work", mountPath: "/share" }],
          },
        ],
        volumes: [{ name: "work", emptyDir: {} }],
      }),
    );
    const failed = await reaches("never", ({ status }) => status.phase === "Failed");
    assert.equal(failed.status.containerStatuses?.[0]?.state.terminated?.reason, "Error");
    const done = await reaches("on-failure", ({ status }) => status.phase === "Succeeded");
    assert.equal(done.status.containerStatuses?.[0]?.restartCount, 1);
  }, 120_000);

  test("probes: readiness by HTTP, liveness by exec restarts, startup by TCP", async () => {
    const container = {
      ...shell("mkdir /www; echo ok > /www/index.html; touch /alive; httpd -f -p 8080 -h /www"),
      ports: [{ name: "http", containerPort: 8080 }],
      startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      readinessProbe: { httpGet: { path: "/index.html", port: "http" }, periodSeconds: 1 },
      livenessProbe: {
        exec: { command: ["cat", "/alive"] },
        periodSeconds: 1,
        failureThreshold: 2,
      },
      lifecycle: { postStart: { exec: { command: ["sh", "-c", "sleep 4; rm /alive"] } } },
    };
    await cluster.apply(
      pod("probes", { terminationGracePeriodSeconds: 1, containers: [container] }),
    );
    const { status } = await reaches("probes", ({ status }) => {
      const [main] = status.containerStatuses ?? [];
      return (main?.restartCount ?? 0) >= 1 && main?.ready === true;
    });
    assert.equal(status.containerStatuses?.[0]?.lastState.terminated?.exitCode, 137);
    const events = await cluster.kubectl(
      "get",
      "events",
      "--field-selector=involvedObject.name=probes",
    );
    assert.match(events, /Unhealthy.*Liveness probe failed: cat: can't open/);
    assert.match(events, /Killing.*Container main failed liveness probe, will be restarted/);
  }, 120_000);

  test("lifecycle: preStop runs before SIGTERM, a failing postStart kills the container", async () => {
    const host = [{ name: "host", mountPath: "/host" }];
    const volumes = [{ name: "host", hostPath: { path: cluster.machine.dir } }];
    await cluster.apply(
      pod("hooks", {
        containers: [
          {
            ...shell("trap 'echo term >> /host/hooks; exit 0' TERM; sleep 1000 & wait"),
            lifecycle: {
              preStop: { exec: { command: ["sh", "-c", "echo preStop >> /host/hooks; sleep 1"] } },
            },
            volumeMounts: host,
          },
        ],
        volumes,
      }),
      pod("post-start", {
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            ...shell("sleep 1000"),
            lifecycle: { postStart: { exec: { command: ["false"] } } },
          },
        ],
      }),
    );
    await isReady("hooks");
    await cluster.kubectl("delete", "pod", "hooks");
    assert.equal(await readFile(join(cluster.machine.dir, "hooks"), "utf8"), "preStop\nterm\n");
    await reaches("post-start", ({ status }) => status.phase === "Failed");
    const events = await cluster.kubectl(
      "get",
      "events",
      "--field-selector=involvedObject.name=post-start",
    );
    assert.match(events, /FailedPostStartHook.*PostStartHook failed/);
  }, 120_000);

  test("activeDeadlineSeconds: the pod fails with DeadlineExceeded", async () => {
    await cluster.apply(
      pod("deadline", {
        activeDeadlineSeconds: 2,
        terminationGracePeriodSeconds: 1,
        containers: [shell("sleep 1000")],
      }),
    );
    const { status } = await reaches("deadline", ({ status }) => status.phase === "Failed");
    assert.equal(status.reason, "DeadlineExceeded");
    assert.equal(status.message, "Pod was active on the node longer than the specified deadline");
  }, 120_000);

  test("securityContext: runAsUser, fsGroup, supplementalGroups, readOnlyRootFilesystem, capabilities", async () => {
    await cluster.apply(
      pod("secure", {
        restartPolicy: "Never",
        securityContext: {
          runAsUser: 1000,
          runAsGroup: 2000,
          fsGroup: 3000,
          supplementalGroups: [4000],
        },
        containers: [
          {
            ...shell(
              "id -u; id -g; id -G; touch /x 2>/dev/null || echo read-only; touch /share/y; sleep 2; stat -c '%g %a' /share /memory",
            ),
            securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
            volumeMounts: [
              { name: "work", mountPath: "/share" },
              { name: "memory", mountPath: "/memory", subPath: "made" },
            ],
          },
        ],
        volumes: [
          { name: "work", emptyDir: {} },
          { name: "memory", emptyDir: { medium: "Memory" } },
        ],
      }),
      pod("root", {
        securityContext: { runAsNonRoot: true },
        containers: [shell("sleep 1000")],
      }),
    );
    await reaches("secure", ({ status }) => status.phase === "Succeeded");
    const lines = (await logOf("secure", "main")).trim().split("\n");
    assert.deepEqual(
      [lines[0], lines[1], lines[2]?.split(" ").sort(), ...lines.slice(-3)],
      ["1000", "2000", ["2000", "3000", "4000"], "read-only", "3000 2777", "3000 3777"],
    );
    const { status } = await reaches("root", ({ status }) => {
      return status.containerStatuses?.[0]?.state.waiting?.reason === "CreateContainerConfigError";
    });
    assert.match(
      status.containerStatuses?.[0]?.state.waiting?.message ?? "",
      /^container has runAsNonRoot and image will run as root/,
    );
  }, 120_000);

  test("resources: cgroup limits of container and pod, OOMKilled", async () => {
    const limits = { cpu: "100m", memory: "32Mi" };
    await cluster.apply(
      pod("oom", {
        restartPolicy: "OnFailure", // the runtime may learn of the kill after the exit
        containers: [
          { ...shell("dd if=/dev/zero of=/dev/null bs=64M count=1"), resources: { limits } },
        ],
      }),
    );
    const ended = ({ status }: PodView) => {
      const [container] = status.containerStatuses ?? [];
      return container?.state.terminated ?? container?.lastState.terminated;
    };
    const seen = await reaches("oom", (pod) => ended(pod)?.reason === "OOMKilled");
    assert.equal(ended(seen)?.exitCode, 137);
    await cluster.kubectl("delete", "pod", "oom", "--now");
  }, 120_000);

  test("hostNetwork, hostname, hostAliases and dnsConfig", async () => {
    await cluster.apply(
      pod("names", {
        restartPolicy: "Never",
        hostname: "myhost",
        subdomain: "sub",
        hostAliases: [{ ip: "10.9.8.7", hostnames: ["alias"] }],
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["10.96.0.99"], searches: ["my.domain"] },
        containers: [shell("hostname; cat /etc/hosts /etc/resolv.conf")],
      }),
      pod("on-host", {
        restartPolicy: "Never",
        hostNetwork: true,
        containers: [shell("ip addr show dev node0")],
      }),
    );
    await reaches("names", ({ status }) => status.phase === "Succeeded");
    const log = await logOf("names", "main");
    assert.match(log, /^myhost\n/);
    assert.match(log, /\tmyhost\.sub\.default\.svc\.cluster\.local\tmyhost\n/);
    assert.match(log, /10\.9\.8\.7\talias/);
    assert.match(log, /nameserver 10\.96\.0\.99/);
    assert.match(log, /search my\.domain/);
    const { status } = await reaches("on-host", ({ status }) => status.phase === "Succeeded");
    assert.equal(status.podIP, "192.168.77.1");
    assert.match(await logOf("on-host", "main"), /192\.168\.77\.1/);
  }, 120_000);

  test("a missing ConfigMap makes CreateContainerConfigError, and the container starts once it is there", async () => {
    const env = [{ name: "X", valueFrom: { configMapKeyRef: { name: "late", key: "x" } } }];
    await cluster.apply(pod("late", { containers: [{ ...shell("sleep 1000"), env }] }));
    const { status } = await reaches("late", ({ status }) => {
      return status.containerStatuses?.[0]?.state.waiting?.reason === "CreateContainerConfigError";
    });
    assert.equal(
      status.containerStatuses?.[0]?.state.waiting?.message,
      'configmap "late" not found',
    );
    await cluster.apply(configMap("late", { x: "1" }));
    await isReady("late");
  }, 120_000);

  test("ephemeralContainers: kubectl debug adds a container to a running pod", async () => {
    await cluster.apply(pod("debugged", { containers: [shell("sleep 1000")] }));
    await isReady("debugged");
    const patch = {
      spec: {
        ephemeralContainers: [
          { ...shell("echo debugging; exit 4"), name: "debug", targetContainerName: "main" },
        ],
      },
    };
    await cluster.kubectl(
      ...["patch", "pod", "debugged", "--subresource=ephemeralcontainers"],
      ...["-p", JSON.stringify(patch)],
    );
    const { status } = await reaches("debugged", ({ status }) => {
      return status.ephemeralContainerStatuses?.[0]?.state.terminated?.exitCode === 4;
    });
    assert.equal(status.containerStatuses?.[0]?.restartCount, 0);
    assert.match(await logOf("debugged", "debug"), /debugging/);
  }, 120_000);

  test("hostUsers: false, image volumes, unsafe sysctls: what runtime or node lack is said in upstream's words", async () => {
    const withImage = (reference: string): object => ({
      volumes: [{ name: "image", image: { reference, pullPolicy: "Never" } }],
      containers: [
        {
          ...shell("sleep 1000"),
          volumeMounts: [{ name: "image", mountPath: "/image", subPath: "bin" }],
        },
      ],
    });
    const sysctls = [{ name: "kernel.msgmax", value: "1" }];
    const containers = [shell("sleep 1000")];
    await cluster.apply(
      pod("own-users", { hostUsers: false, containers }),
      pod("sysctl", { securityContext: { sysctls }, containers }),
      pod("image-volume", withImage(BUSYBOX)),
      pod("image-volume-missing", withImage("docker.io/library/missing:1")),
    );
    const waitsWith =
      (reason: string) =>
      ({ status }: PodView) =>
        status.containerStatuses?.[0]?.state.waiting?.reason === reason;
    // containerd before 2.1 does not know such mounts.
    await reaches("image-volume", waitsWith("CreateContainerError"));
    await reaches("image-volume-missing", waitsWith("ErrImageNeverPull"));
    const { status } = await reaches("sysctl", (one) => one.status.phase === "Failed");
    assert.deepEqual(
      [status.reason, status.message],
      ["SysctlForbidden", 'Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted'],
    );
    const events = ["get", "events", "--field-selector", "involvedObject.name=own-users"];
    await until(async () => {
      const text = await cluster.kubectl(...events, "-o", "jsonpath={.items[*].message}");
      return text.includes(
        "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      );
    }, LONG);
  }, 120_000);

  test("status: a condition Ready that others set to False is put right, conditions of others stay", async () => {
    await cluster.apply(pod("disputed", { containers: [shell("sleep 3600")] }));
    await isReady("disputed");
    const gate = { type: "example.com/gate", status: "True" };
    const conditions = [{ type: "Ready", status: "False" }, gate];
    const patch = JSON.stringify({ status: { conditions } });
    await cluster.kubectl("patch", "pod", "disputed", "--subresource=status", "-p", patch);
    const types = await reaches("disputed", ({ status }) =>
      Boolean(status.conditions?.some((one) => one.type === "Ready" && one.status === "True")),
    ).then(({ status }) => status.conditions?.map(({ type }) => type));
    assert.ok(types?.includes(gate.type));
  }, 120_000);

  test("delete --force --grace-period=0 ends a container that ignores SIGTERM", async () => {
    await cluster.apply(
      pod("stubborn", {
        terminationGracePeriodSeconds: 600,
        containers: [shell("trap '' TERM; while :; do sleep 1; done")],
      }),
    );
    await isReady("stubborn");
    const { metadata } = await cluster.pod("stubborn");
    await cluster.kubectl("delete", "pod", "stubborn", "--force", "--grace-period=0");
    await until(async () => {
      const left = await readdir(join(cluster.machine.dir, "kubelet/pods"));
      return !left.includes(metadata.uid);
    });
  }, 120_000);
});

test("static pods: a manifest runs and has a mirror pod, which comes back; both go with the file", async () => {
  const file = join(cluster.machine.dir, "manifests/static.json");
  const spec = { containers: [shell("sleep 1000")], terminationGracePeriodSeconds: 1 };
  const manifest = { apiVersion: "v1", kind: "Pod", metadata: { name: "static" }, spec };
  await writeFile(file, JSON.stringify(manifest));
  const name = `static-${NODE}`;
  await until(async () => (await cluster.tryKubectl(["get", "pod", name])).exitCode === 0);
  await isReady(name);
  const first = await cluster.pod(name);
  await cluster.kubectl("delete", "pod", name, "--force", "--grace-period=0");
  await until(async () => (await cluster.tryKubectl(["get", "pod", name])).exitCode === 0);
  await isReady(name);
  const second = await cluster.pod(name);
  assert.notEqual(second.metadata.uid, first.metadata.uid);
  assert.equal(
    second.status.containerStatuses?.[0]?.containerID,
    first.status.containerStatuses?.[0]?.containerID,
  );
  await rm(file);
  await until(async () => (await cluster.tryKubectl(["get", "pod", name])).exitCode !== 0);
}, 120_000);

test("kill -9 of the kubelet: containers go on, and what happened meanwhile is found", async () => {
  await cluster.apply(
    pod("survivor", { containers: [shell("sleep 1000")] }),
    pod("finisher", { restartPolicy: "Never", containers: [shell("sleep 3")] }),
  );
  await isReady("survivor");
  await isReady("finisher");
  const before = await cluster.pod("survivor");
  await cluster.stopKubelet("SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  cluster.startKubelet();
  await reaches("finisher", ({ status }) => status.phase === "Succeeded");
  const after = await cluster.pod("survivor");
  const idOf = ({ status }: PodView): unknown => status.containerStatuses?.[0]?.containerID;
  assert.equal(idOf(after), idOf(before));
  assert.equal(after.status.containerStatuses?.[0]?.restartCount, 0);
}, 120_000);

function pod(name: string, spec: object): object {
  const metadata = { name, labels: { app: name } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 5, ...spec },
  };
}

function shell(script: string): Readonly<Record<string, unknown>> {
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command: ["sh", "-c", script] };
}

function configMap(name: string, data: object): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

function secret(name: string, stringData: object): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData };
}

/** The texts of the log files of a container, without CRI's prefixes. */
async function logOf(name: string, container: string): Promise<string> {
  const { metadata } = await cluster.pod(name);
  const folder = join(cluster.machine.dir, "logs", `default_${name}_${metadata.uid}`, container);
  const files = (await readdir(folder).catch(() => [])).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return texts
    .join("")
    .split("\n")
    .map((line) => line.split(" ").slice(3).join(" "))
    .join("\n");
}

async function reaches(name: string, isThere: (pod: PodView) => boolean): Promise<PodView> {
  let seen: PodView | undefined;
  await until(async () => {
    seen = await cluster.pod(name);
    return isThere(seen);
  }, LONG).catch(async (error) => {
    const described = await cluster.tryKubectl(["describe", "pod", name]);
    throw new Error(`${described.stdout}\n${cluster.log().slice(-3_000)}`, { cause: error });
  });
  return seen!;
}

async function isReady(name: string): Promise<void> {
  await reaches(
    name,
    ({ status }) =>
      status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false,
  );
}
