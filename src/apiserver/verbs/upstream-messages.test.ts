/** Refusals in which upstream has words, or rules, of its own. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi } from "../api.testing.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const deployment = {
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { labels: { a: "b" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    },
  },
};

describe("a PriorityClass of the system", () => {
  const CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const system = { metadata: { name: "system-node-critical" }, value: 2_000_001_000 };

  test("cannot be deleted (403)", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CLASSES, { body: system });
    const { message, reason } = await t.want(403, "DELETE", `${CLASSES}/system-node-critical`);
    assert.equal(
      message,
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
    );
    assert.equal(reason, "Forbidden");
    await t.want(200, "GET", `${CLASSES}/system-node-critical`);
  });

  test("a PriorityClass of a user can be deleted", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", CLASSES, { body: { metadata: { name: "mine" }, value: 1 } });
    await t.want(200, "DELETE", `${CLASSES}/mine`);
  });
});

describe("a body of another apiVersion", () => {
  const versions = [
    [
      "apps/v1beta1",
      /^the API version in the data \(apps\/v1beta1\) does not match the expected API version \(apps\/v1\)$/,
    ],
    ["apps/v1beta2", /^the API version in the data \(apps\/v1beta2\) does not match/],
    ["extensions/v1beta1", /^the API version in the data \(extensions\/v1beta1\) does not match/],
    ["apps/v2", /no kind "Deployment" is registered for version "apps\/v2"/],
    ["batch/v1beta1", /no kind "Deployment" is registered for version "batch\/v1beta1"/],
  ] as const;
  test.each(versions)("Deployment of %s", async (apiVersion, says) => {
    await using t = await startTestApi();
    const body = { ...deployment, apiVersion, kind: "Deployment" };
    assert.match((await t.want(400, "POST", DEPLOYMENTS, { body })).message, says);
  });
});

describe("a strategic merge patch with a value of the wrong type (422)", () => {
  const rows: [spec: object, says: string][] = [
    [{ template: { spec: { tolerations: "x" } } }, "cannot restore slice from string"],
    [
      { template: { spec: { containers: [{ name: "c", command: "x" }] } } },
      "cannot restore slice from string",
    ],
    [{ template: { spec: { nodeSelector: "x" } } }, "cannot restore map from string"],
    [{ template: "x" }, "cannot restore struct from: string"],
    [{ replicas: "x" }, "unrecognized type: int32"],
    [{ template: { spec: { hostNetwork: "x" } } }, "unrecognized type: bool"],
    [{ template: { spec: { nodeName: 5 } } }, "cannot convert int64 to string"],
  ];
  test.each(rows)("%j: %s", async (spec, says) => {
    await using t = await startTestApi();
    await t.want(201, "POST", DEPLOYMENTS, { body: deployment });
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    const status = await t.want(422, "PATCH", `${DEPLOYMENTS}/d`, { body: { spec }, headers });
    assert.ok(status.message.endsWith(`: ${says}`), status.message);
  });
});

test("ipaddresses: generateName is the name itself", async () => {
  await using t = await startTestApi();
  const url = "/apis/networking.k8s.io/v1/ipaddresses";
  const spec = { parentRef: { resource: "services", namespace: "default", name: "s" } };
  const body = { metadata: { generateName: "10.9.8.7" }, spec };
  assert.equal((await t.want(201, "POST", url, { body })).metadata.name, "10.9.8.7");
  await t.want(409, "POST", url, { body });
});

test("a continue token expires (410) though nothing is written in the cluster", async () => {
  await using t = await startTestApi();
  const url = "/api/v1/namespaces/default/configmaps";
  for (const name of ["a", "b", "c"])
    await t.want(201, "POST", url, { body: { metadata: { name } } });
  const { metadata } = await t.want(200, "GET", `${url}?limit=1`);
  const next = `${url}?limit=1&continue=${metadata.continue}`;
  await t.clock.advance(2 * 60_000);
  await t.want(200, "GET", next);
  await t.clock.advance(8 * 60_000);
  const status = await t.want(410, "GET", next);
  assert.equal(status.reason, "Expired");
  const rest = await t.want(200, "GET", `${url}?continue=${status.metadata.continue}`);
  assert.equal(rest.items.length, 2);
  const again = await t.want(200, "GET", `${url}?limit=1`);
  await t.want(200, "GET", `${url}?limit=1&continue=${again.metadata.continue}`);
});

describe("sizes and depths that upstream accepts", () => {
  const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

  test("a ConfigMap of 60,000 small keys", async () => {
    await using t = await startTestApi();
    const entries = Array.from({ length: 60_000 }, (_, i) => [`k${i}`, "v"]);
    const body = { metadata: { name: "c" }, data: Object.fromEntries(entries) };
    await t.want(201, "POST", CONFIG_MAPS, { body });
    const { data } = await t.want(200, "GET", `${CONFIG_MAPS}/c`);
    assert.equal(Object.keys(data).length, 60_000);
  });

  test("YAML that nests 300 deep where it is dropped", async () => {
    await using t = await startTestApi();
    const yaml = `metadata: {name: c}\nunknown: ${"[".repeat(300)}${"]".repeat(300)}\n`;
    const headers = { "content-type": "application/yaml" };
    const made = await t.want(201, "POST", CONFIG_MAPS, { body: yaml, headers });
    assert.equal(made.metadata.name, "c");
  });
});
