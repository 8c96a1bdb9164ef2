/** Dual stack with the built program: pods and Services of two nodes reach each other over IPv4 and IPv6. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  buildWebImage,
  type MachineCluster,
  prepareMachine,
  webObjects,
} from "./machine-cluster.ts";

const RANGES = "10.96.0.0/16,fd00:10:96::/112";

describe(`k8ts up --nodes 2 --proxy-mode=userspace --service-cluster-ip-range ${RANGES}`, () => {
  let cluster: MachineCluster;

  beforeAll(async () => {
    cluster = await prepareMachine();
    const ranges = ["--service-cluster-ip-range", RANGES];
    await cluster.k8ts("up", "--nodes", "2", "--proxy-mode=userspace", ...ranges);
    await buildWebImage(cluster);
    const file = join(cluster.machine.dir, "web.json");
    const list = JSON.parse(webObjects()) as { items: { kind: string; spec: object }[] };
    const service = list.items.find(({ kind }) => kind === "Service")!;
    service.spec = { ...service.spec, ipFamilyPolicy: "RequireDualStack" };
    writeFileSync(file, JSON.stringify(list));
    await cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s");
    await cluster.kubectl("apply", "-f", file);
    await cluster.kubectl("rollout", "status", "daemonset/web", "--timeout=120s");
  }, 300_000);

  afterAll(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  const each = (path: string): string => `jsonpath={range .items[*]}${path}{"\\n"}{end}`;

  test("nodes have addresses and pod ranges of both families", async () => {
    const path = "{.status.addresses[*].address} {.spec.podCIDRs[*]}";
    const text = await cluster.kubectl("get", "nodes", "-o", each(path));
    for (const line of text.trim().split("\n")) {
      assert.match(line, /^10\.201\.\d+\.\d+ fd00:10:201:\S+ \S+ 10\.244\.\S+ fd00:10:244:\S+$/);
    }
  });

  test("pods reach pods of the other node and the Service at every address, by their own addresses", async () => {
    const path = "{.metadata.name} {.status.podIPs[*].ip}";
    const text = await cluster.kubectl("get", "pods", "-l", "app=web", "-o", each(path));
    const pods = text
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    const service = "jsonpath={.spec.clusterIPs[*]}";
    const vips = (await cluster.kubectl("get", "service", "web", "-o", service)).split(" ");
    assert.equal(vips.length, 2);
    for (const [name = "", ipv4 = "", ipv6 = ""] of pods) {
      const targets = pods.flatMap(([, ...ips]) => ips.map((ip) => [ip, "8080"]));
      const all = [...targets, ...vips.map((vip) => [vip, "80"])];
      const ask = `printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n' | nc -w 10`;
      const script = all.map(([host, port]) => `${ask} ${host} ${port} | tail -n 1`).join("; ");
      const seen = (await cluster.kubectl("exec", name, "--", "sh", "-c", script))
        .trim()
        .split("\n");
      assert.equal(seen.length, all.length, seen.join(" "));
      all.forEach(([host = ""], i) => {
        const said = seen[i]!.replace(/[[\]]/g, "");
        if (!vips.includes(host))
          assert.equal(said, host.includes(":") ? ipv6 : ipv4, `to ${host}`);
        else assert.notEqual(said, "", `no answer from ${host}`);
      });
    }
  }, 120_000);

  test("down leaves no IPv6 route or rule", async () => {
    await cluster.k8ts("down");
    assert.equal(await cluster.run("ip", "-6", "route", "show", "proto", "158"), "");
    assert.doesNotMatch(await cluster.run("ip6tables-save"), /K8TS/);
    assert.doesNotMatch(await cluster.run("ip", "-brief", "link"), /k8t/);
  }, 120_000);
});
