import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { addressAt, addressRange, candidates, contains } from "#api/meta/address-range.ts";
import { parseCidr } from "#api/validation/ip.ts";
import { seededRandom } from "#lib/random.ts";
import { startTestApi, type TestApi } from "../api.testing.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const service = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const make = (t: TestApi, name: string, spec: object = {}) =>
  t.want(201, "POST", SERVICES, { body: service(name, spec) });

async function addresses(t: TestApi): Promise<string[]> {
  const list = await t.want(200, "GET", "/apis/networking.k8s.io/v1/ipaddresses");
  return list.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

describe("addressRange of a ServiceCIDR", () => {
  const rangeOf = (text: string) => addressRange(parseCidr(text)!, text);

  test("leaves out the network and, in IPv4, the address for all", () => {
    const range = rangeOf("10.0.0.0/30");
    assert.deepEqual([...candidates(range, seededRandom(1))].sort(), ["10.0.0.1", "10.0.0.2"]);
    assert.deepEqual(
      ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "::1"].map((ip) => contains(range, ip)),
      [false, true, true, false, false],
    );
  });

  test("candidates yields every address once, the lower band last", () => {
    const all = [...candidates(rangeOf("10.0.0.0/24"), seededRandom(7))];
    assert.equal(new Set(all).size, 254);
    const lower = all.slice(-16).map((ip) => Number(ip.split(".")[3]));
    assert.deepEqual(
      lower,
      Array.from({ length: 16 }, (_, i) => i + 1),
    );
  });

  test("IPv6 is counted too", () => {
    const range = rangeOf("fd00::/112");
    assert.equal(addressAt(range, 0), "fd00::1");
    assert.ok(contains(range, "fd00::ffff"));
  });
});

describe("Services take addresses and ports", () => {
  test("one address each, given back when the Service goes", async () => {
    await using t = await startTestApi();
    const { spec } = await make(t, "a");
    assert.deepEqual(spec.clusterIPs, [spec.clusterIP]);
    assert.deepEqual(await addresses(t), [spec.clusterIP]);
    const { spec: parent } = await t.want(
      200,
      "GET",
      `/apis/networking.k8s.io/v1/ipaddresses/${spec.clusterIP}`,
    );
    assert.deepEqual(parent.parentRef, { resource: "services", namespace: "default", name: "a" });
    await t.want(200, "DELETE", `${SERVICES}/a`);
    assert.deepEqual(await addresses(t), []);
  });

  test("a chosen address is taken once", async () => {
    await using t = await startTestApi();
    await make(t, "a", { clusterIP: "10.96.0.10" });
    const again = await t.want(422, "POST", SERVICES, {
      body: service("b", { clusterIP: "10.96.0.10" }),
    });
    assert.match(again.message, /provided IP is already allocated/);
    const outside = await t.want(422, "POST", SERVICES, {
      body: service("c", { clusterIP: "192.0.2.1" }),
    });
    assert.match(outside.message, /does not match the current range/);
  });

  test("many at once never share an address; a full range says so", async () => {
    await using t = await startTestApi();
    const made = await Promise.all(
      Array.from({ length: 260 }, (_, n) => t.ask("POST", SERVICES, { body: service(`s${n}`) })),
    );
    const good = made.filter(({ code }) => code === 201);
    assert.equal(good.length, 254);
    assert.equal(new Set(good.map(({ body }) => body.spec.clusterIP)).size, 254);
    assert.ok(made.every(({ code }) => code === 201 || code === 500));
  });

  test("what a refused or dry write took is given back", async () => {
    await using t = await startTestApi();
    await t.want(422, "POST", SERVICES, {
      body: service("a", { type: "NodePort", sessionAffinity: "X" }),
    });
    await t.want(201, "POST", `${SERVICES}?dryRun=All`, {
      body: service("a", { type: "NodePort" }),
    });
    assert.deepEqual(await addresses(t), []);
    const made = await Promise.all(
      Array.from({ length: 64 }, (_, n) => make(t, `n${n}`, { type: "NodePort" })),
    );
    const ports = made.map(({ spec }) => spec.ports[0].nodePort);
    assert.equal(new Set(ports).size, 64); // the whole range: none was lost
    await t.want(500, "POST", SERVICES, { body: service("more", { type: "NodePort" }) });
  });

  test("a change of type takes and gives back", async () => {
    await using t = await startTestApi();
    const { spec } = await make(t, "a", { type: "NodePort" });
    const port = spec.ports[0].nodePort;
    const plain = await t.want(200, "PUT", `${SERVICES}/a`, { body: service("a") });
    assert.equal(plain.spec.ports[0].nodePort, undefined);
    assert.equal(plain.spec.clusterIP, spec.clusterIP);
    await make(t, "b", { type: "NodePort", ports: [{ port: 80, nodePort: port }] });
    const external = { type: "ExternalName", externalName: "example.com" };
    await t.want(200, "PUT", `${SERVICES}/a`, { body: service("a", external) });
    assert.equal((await addresses(t)).length, 1);
    const back = await t.want(200, "PUT", `${SERVICES}/a`, { body: service("a") });
    assert.match(back.spec.clusterIP, /^10\.96\.0\./);
  });

  test("headless Services take none", async () => {
    await using t = await startTestApi();
    const { spec } = await make(t, "a", { clusterIP: "None", selector: { a: "b" } });
    assert.deepEqual([spec.clusterIPs, spec.ipFamilies], [["None"], ["IPv4"]]);
    assert.deepEqual(await addresses(t), []);
  });
});
