import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "vitest";
import { readConfig } from "./config/read-config.ts";
import { explainPod } from "./explain/explain-pod.ts";
import { definePlugin, FITS, type PluginFactory, unresolvable } from "./plugin.ts";
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

  test("extenders filter and score nodes over HTTP", async () => {
    const asked: string[] = [];
    const server = createServer((request, reply) => {
      let text = "";
      request.on("data", (part) => {
        text += part;
      });
      request.on("end", () => {
        asked.push(request.url ?? "");
        const { nodenames } = JSON.parse(text) as { nodenames: string[] };
        const answer =
          request.url === "/filter"
            ? { nodenames: nodenames.filter((name) => name !== "n1"), failedNodes: { n1: "no" } }
            : nodenames.map((host) => ({ host, score: host === "n3" ? 10 : 0 }));
        reply.end(JSON.stringify(answer));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const urlPrefix = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { scheduler: config } = readConfig({
      ...head,
      extenders: [
        {
          urlPrefix,
          filterVerb: "filter",
          prioritizeVerb: "score",
          weight: 5,
          nodeCacheCapable: true,
        },
      ],
    });
    {
      await using world = await startScheduling({ config });
      for (const name of ["n1", "n2", "n3"]) await world.node(name);
      await world.submit("p");
      for (let i = 0; i < 6_000 && world.nodeOf("p") === undefined; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.equal(world.nodeOf("p"), "n3");
      assert.deepEqual(asked, ["/filter", "/score"]);
    }
    server.close();
    server.closeAllConnections();
  });

  test("decision records explain a pod in words", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    const requests = { cpu: "5" };
    await world.pod("p", { containers: [{ name: "c", image: "x", resources: { requests } }] });
    const text = explainPod(world.scheduler.records.of("default", "p")!);
    assert.match(text, /1 node\(s\) rejected: Insufficient cpu/);
    assert.match(text, /nearest miss: node n1 \(5000m cpu requested, 4000m free\)/);
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
