import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { readConfig } from "./config/read-config.ts";
import { explainPod } from "./explain/explain-pod.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  unresolvable,
} from "./plugin.ts";
import { startScheduling } from "./scheduling.testing.ts";

const head = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };

const evenOnly: PluginFactory = {
  name: "EvenOnly",
  create: () => {
    const odd = unresolvable("node(s) had an odd name");
    return definePlugin<undefined, undefined>({
      name: "EvenOnly",
      filter: (_state, _pod, { name }) => (Number(name.slice(1)) % 2 === 0 ? FITS : odd),
    });
  },
};

describe("scheduler profiles", () => {
  test("a plugin of one's own runs in the profile that enables it", async () => {
    const { scheduler: config } = readConfig({
      ...head,
      profiles: [
        { schedulerName: "default-scheduler" },
        { schedulerName: "even", plugins: { multiPoint: { enabled: [{ name: "EvenOnly" }] } } },
      ],
    });
    await using world = await startScheduling({ config, plugins: [evenOnly] });
    await world.node("n1");
    await world.pod("p", { schedulerName: "even" });
    assert.match(
      world.message("p") ?? "",
      /^0\/1 nodes are available: 1 node\(s\) had an odd name\./,
    );
    await world.node("n2");
    await world.advance(1_100);
    assert.equal(world.nodeOf("p"), "n2");
  });

  test("a permit plugin makes a pod wait until it allows or rejects it", async () => {
    let handle: Handle | undefined;
    const gate: PluginFactory = {
      name: "Gate",
      create: (_args, given) => {
        handle = given;
        return definePlugin<undefined, undefined>({
          name: "Gate",
          permit: () => ({ waitMs: 60_000 }),
        });
      },
    };
    const { scheduler: config } = readConfig({
      ...head,
      profiles: [{ plugins: { multiPoint: { enabled: [{ name: "Gate" }] } } }],
    });
    await using world = await startScheduling({ config, plugins: [gate] });
    await world.node("n1");
    for (const name of ["p", "q", "r"]) await world.submit(name);
    await world.cluster.clock.advance(1_000);
    assert.equal(world.nodeOf("p"), undefined);
    const uidOf = (name: string) => world.cluster.get(podKind, name)?.metadata.uid ?? "";
    handle?.waitingPods.allow(uidOf("p"), "Gate");
    assert.equal(handle?.waitingPods.reject(uidOf("q"), "Gate", "not today"), true);
    await world.cluster.clock.advance(0);
    assert.equal(world.nodeOf("p"), "n1");
    assert.match(world.message("q") ?? "", /not today/);
    await world.cluster.clock.advance(60_000);
    assert.match(
      world.message("r") ?? "",
      /rejected due to timeout after waiting 1m0s at plugin Gate/,
    );
    const text = world.metrics.text();
    assert.match(text, /scheduler_permit_wait_duration_seconds_count\{result="Success"\} 1\n/);
    assert.match(
      text,
      /scheduler_permit_wait_duration_seconds_count\{result="Unschedulable"\} [1-9]/,
    );
  });

  test("extenders filter and score nodes over HTTP", async () => {
    const asked: string[] = [];
    await using extender = await startExtender((path, { nodenames = [] }) => {
      asked.push(path);
      return path === "/filter"
        ? { nodenames: nodenames.filter((name) => name !== "n1"), failedNodes: { n1: "no" } }
        : nodenames.map((host) => ({ host, score: host === "n3" ? 10 : 0 }));
    });
    const { scheduler: config } = readConfig({
      ...head,
      extenders: [
        {
          ...{ urlPrefix: extender.url, filterVerb: "filter", prioritizeVerb: "score" },
          ...{ weight: 5, nodeCacheCapable: true },
        },
      ],
    });
    await using world = await startScheduling({ config });
    for (const name of ["n1", "n2", "n3"]) await world.node(name);
    await world.submit("p");
    await until(() => world.nodeOf("p") !== undefined);
    assert.equal(world.nodeOf("p"), "n3");
    assert.deepEqual(asked, ["/filter", "/score"]);
  });

  test("an extender with preemptVerb chooses among the nodes on which pods can be preempted", async () => {
    const asked: unknown[] = [];
    await using extender = await startExtender((_path, { nodeNameToMetaVictims = {} }) => {
      asked.push(nodeNameToMetaVictims);
      return { nodeNameToMetaVictims: { n2: nodeNameToMetaVictims.n2 } };
    });
    const { scheduler: config } = readConfig({
      ...head,
      extenders: [{ urlPrefix: extender.url, preemptVerb: "preempt", nodeCacheCapable: true }],
    });
    await using world = await startScheduling({ config });
    for (const name of ["n1", "n2"]) await world.node(name);
    const containers = [{ name: "c", image: "x", resources: { requests: { cpu: "3" } } }];
    await world.submit("a", { containers, nodeName: "n1", priority: 1 });
    await world.submit("b", { containers, nodeName: "n2", priority: 2 });
    await world.submit("high", { containers, priority: 10 });
    const nominated = () => world.cluster.get(podKind, "high")?.status?.nominatedNodeName;
    await until(() => nominated() !== undefined);
    assert.equal(nominated(), "n2");
    const victims = (name: string) => ({
      pods: [{ uid: world.cluster.get(podKind, name)?.metadata.uid }],
      numPDBViolations: 0,
    });
    assert.deepEqual(asked[0], { n1: victims("a"), n2: victims("b") });
  });

  test("decision records explain a pod in words", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    const requests = { cpu: "5" };
    await world.pod("p", { containers: [{ name: "c", image: "x", resources: { requests } }] });
    const text = explainPod(world.scheduler.records.of("default", "p")!);
    assert.match(text, /rejections by plugin: NodeResourcesFit 1\n/);
    assert.match(text, /1 node\(s\) rejected: Insufficient cpu/);
    assert.match(text, /nearest miss: node n1 \(5000m cpu requested, 4000m free\)/);
  });

  test("decision records name the plugin that holds a gated pod", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("p", { schedulingGates: [{ name: "example.com/g" }] });
    const text = explainPod(world.scheduler.records.of("default", "p")!);
    assert.match(text, /not tried: held by SchedulingGates since .*: .*example\.com\/g/);
    const key = { namespace: "default", name: "p" };
    const patch = { spec: { schedulingGates: null } };
    await world.cluster.client.patch(podKind, key, "merge", patch);
    await world.settle();
    const after = explainPod(world.scheduler.records.of("default", "p")!);
    assert.doesNotMatch(after, /not tried/);
    assert.match(after, /chose node n1/);
  });

  test("decision records say why a pod was not bound to the chosen node", async () => {
    const refusing = { name: "Refusing", permit: () => rejected("not today") };
    const plugins = [{ name: "Refusing", create: () => refusing }];
    const { scheduler: config } = readConfig({
      ...head,
      profiles: [{ plugins: { permit: { enabled: [{ name: "Refusing" }] } } }],
    });
    await using world = await startScheduling({ config, plugins });
    await world.node("n1");
    await world.pod("p");
    const text = explainPod(world.scheduler.records.of("default", "p")!);
    assert.match(text, /chose node n1/);
    assert.match(text, /not bound: 0\/1 nodes are available: 1 not today\./);
  });

  test("decision records name the victims of a preemption", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    const full = (priority: number) => ({
      priority,
      containers: [{ name: "c", image: "x", resources: { requests: { cpu: "3" } } }],
    });
    await world.pod("low", full(1));
    await world.pod("high", full(2));
    const text = explainPod(world.scheduler.records.of("default", "high")!);
    assert.match(text, /room is being made on node n1\n {2}preempted pod: default\/low/);
  });
});

interface Question {
  readonly nodenames?: readonly string[];
  readonly nodeNameToMetaVictims?: Readonly<Record<string, unknown>>;
}

/** Answers every request with what `answer` returns. */
async function startExtender(
  answer: (path: string, question: Question) => unknown,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, reply) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      reply.end(JSON.stringify(answer(request.url ?? "", JSON.parse(text) as Question)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Extenders answer in real time. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 6_000 && !isTrue(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
