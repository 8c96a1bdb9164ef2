/** Every probe and every hook fails once, in each of its forms, on a real node: what becomes of the container, and the events. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ContainerView, NODE, type NodeCluster, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

/** The machine may be busy with other work. */
const LONG = { timeoutMs: 90_000, everyMs: 300 };
const CLOSED_PORT = 81;
/** Serves on port 80 and ends on SIGTERM. */
const SERVER = "trap 'exit 0' TERM; httpd -p 80 -h /; while :; do sleep 1; done";

let cluster: NodeCluster;

beforeAll(async () => {
  cluster = await startNodeCluster();
}, 120_000);

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

const FORMS = [
  { form: "exec", action: { exec: { command: ["cat", "/missing"] } }, output: "cat: can't open" },
  {
    form: "exec-timeout",
    action: { exec: { command: ["sleep", "60"] }, timeoutSeconds: 1 },
    output: 'command timed out: "sleep 60" timed out after 1s',
  },
  {
    form: "http-status",
    action: { httpGet: { path: "/missing", port: 80 } },
    output: "HTTP probe failed with statuscode: 404",
  },
  {
    form: "http-refused",
    action: { httpGet: { path: "/", port: CLOSED_PORT } },
    output: "connect: connection refused",
  },
  {
    form: "tcp",
    action: { tcpSocket: { port: CLOSED_PORT } },
    output: "connect: connection refused",
  },
  { form: "grpc", action: { grpc: { port: CLOSED_PORT } }, output: "failed to connect service" },
] as const;
const TYPES = ["Startup", "Liveness"] as const;

describe.concurrent("failing probes", () => {
  const rows = TYPES.flatMap((type) => FORMS.map((form) => ({ type, ...form })));
  test.each(rows)(
    "$type probe, $form: the container is restarted; events Unhealthy and Killing",
    async ({ type, form, action, output }) => {
      const name = `${type.toLowerCase()}-${form}`;
      const probe = { periodSeconds: 1, failureThreshold: 2, ...action };
      const container = { ...server(), [`${type.toLowerCase()}Probe`]: probe };
      await cluster.apply(pod(name, { containers: [container] }));
      await until(async () => (await containerOf(name)).restartCount >= 1, LONG);
      const events = await eventsOf(name);
      assert.ok(events.includes(`Unhealthy ${type} probe failed: `), events);
      assert.ok(events.includes(output), events);
      const killing = `Killing Container main failed ${type.toLowerCase()} probe, will be restarted`;
      assert.ok(events.includes(killing), events);
      await removed(name);
    },
    180_000,
  );

  test.each(FORMS)(
    "Readiness probe, $form: the container is not ready and is not restarted; event Unhealthy",
    async ({ form, action, output }) => {
      const name = `readiness-${form}`;
      const readinessProbe = { periodSeconds: 1, failureThreshold: 1, ...action };
      await cluster.apply(pod(name, { containers: [{ ...server(), readinessProbe }] }));
      await until(async () => (await eventsOf(name)).includes(output), LONG);
      assert.match(await eventsOf(name), /Unhealthy Readiness probe failed: /);
      const { ready, restartCount, state } = await containerOf(name);
      assert.deepEqual([ready, restartCount, state.running !== undefined], [false, 0, true]);
      await removed(name);
    },
    180_000,
  );
});

describe.concurrent("failing hooks", () => {
  const handlers = [
    { form: "exec", handler: { exec: { command: ["false"] } } },
    { form: "exec-missing", handler: { exec: { command: ["/missing"] } } },
    { form: "http", handler: { httpGet: { path: "/", port: CLOSED_PORT } } },
  ] as const;

  test.each(handlers)(
    "postStart, $form: the container is killed; event FailedPostStartHook",
    async ({ form, handler }) => {
      const name = `post-start-${form}`;
      const container = { ...server(), lifecycle: { postStart: handler } };
      await cluster.apply(pod(name, { restartPolicy: "Never", containers: [container] }));
      await until(async () => (await containerOf(name)).state.terminated !== undefined, LONG);
      assert.match(await eventsOf(name), /FailedPostStartHook PostStartHook failed/);
      await removed(name);
    },
    180_000,
  );

  test.each(handlers)(
    "preStop, $form: the container is stopped all the same; event FailedPreStopHook",
    async ({ form, handler }) => {
      const name = `pre-stop-${form}`;
      const container = { ...server(), lifecycle: { preStop: handler } };
      await cluster.apply(
        pod(name, { terminationGracePeriodSeconds: 30, containers: [container] }),
      );
      await until(async () => (await containerOf(name)).state.running !== undefined, LONG);
      await cluster.kubectl("delete", "pod", name, "--timeout=60s");
      assert.match(await eventsOf(name), /FailedPreStopHook PreStopHook failed/);
    },
    180_000,
  );

  test("preStop that does not end: the container is killed when terminationGracePeriodSeconds are over", async () => {
    const lifecycle = { preStop: { exec: { command: ["sleep", "600"] } } };
    await cluster.apply(
      pod("pre-stop-slow", {
        terminationGracePeriodSeconds: 3,
        containers: [{ ...server(), lifecycle }],
      }),
    );
    await until(async () => (await containerOf("pre-stop-slow")).state.running !== undefined, LONG);
    await cluster.kubectl("delete", "pod", "pre-stop-slow", "--timeout=60s");
  }, 180_000);
});

function pod(name: string, spec: object): object {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: { nodeName: NODE, terminationGracePeriodSeconds: 1, ...spec },
  };
}

function server(): object {
  const command = ["sh", "-c", SERVER];
  return { name: "main", image: BUSYBOX, imagePullPolicy: "Never", command };
}

async function containerOf(name: string): Promise<ContainerView> {
  const { status } = await cluster.pod(name);
  const [main] = status.containerStatuses ?? [];
  return main ?? { name: "main", ready: false, restartCount: 0, state: {}, lastState: {} };
}

/** `reason message` of each, one on a line. */
function eventsOf(name: string): Promise<string> {
  const format = `jsonpath={range .items[*]}{.reason} {.message}{"\\n"}{end}`;
  const selector = `involvedObject.name=${name}`;
  return cluster.kubectl("get", "events", "--field-selector", selector, "-o", format);
}

/** So that pods that go on failing do not keep the machine busy. */
async function removed(name: string): Promise<void> {
  await cluster.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false");
}
