import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { Logger } from "#lib/logger.ts";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { startSimulated } from "./start-simulated.ts";

const node = (name: string): Node => build(nodeKind, { metadata: { name } });
const { signal } = new AbortController();

async function start(config: string) {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  let url = "";
  const info = (_message: string, fields?: Readonly<Record<string, unknown>>): void => {
    url = String(fields?.url ?? url);
  };
  const logger: Logger = { ...silentLogger, info };
  const provider = await startSimulated({ config, clock, logger, client: {} as never });
  return { clock, provider, instances: provider.instances!, url };
}

describe("simulated cloud provider (startSimulated)", () => {
  test("machines appear, stop and vanish by schedule", async () => {
    const { clock, provider, instances } = await start(`
machines: [{ name: a }]
schedule:
- { after: 1m, action: stop, machine: a }
- { after: 2m, action: delete, machine: a }
- { after: 3m, action: create, machine: b }`);
    const state = async (name: string): Promise<string> =>
      `${await instances.exists(node(name), signal)} ${await instances.isShutdown(node(name), signal)}`;
    assert.equal(await state("a"), "true false");
    await clock.advance(60_000);
    assert.equal(await state("a"), "true true");
    await clock.advance(60_000);
    assert.equal(await state("a"), "false false");
    await clock.advance(60_000);
    assert.equal(await state("b"), "true false");
    await provider.close?.();
  });

  test("latency holds every operation up", async () => {
    const { clock, provider, instances } = await start(
      "{ latency: 200ms, machines: [{ name: a }] }",
    );
    let answer: boolean | undefined;
    void instances.exists(node("a"), signal).then((exists) => {
      answer = exists;
    });
    await clock.advance(199);
    assert.equal(answer, undefined);
    await clock.advance(1);
    assert.equal(answer, true);
    await provider.close?.();
  });

  test("machine API over HTTP: create, get, stop, start, delete, quota, faults", async () => {
    const { provider, instances, url } = await start(
      "{ listen: 127.0.0.1:0, quota: { machines: 1 } }",
    );
    const call = async (method: string, path: string, body?: unknown) => {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const reply = await fetch(`${url}${path}`, { method, ...sent });
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    const made = await call("POST", "", { name: "a", type: "large" });
    assert.equal(made.status, 201);
    assert.deepEqual(made.body, {
      ...{ id: "m-1", name: "a", state: "running", type: "large" },
      ...{ zone: "zone-a", region: "region-1", address: "192.0.2.1" },
    });
    assert.equal((await call("POST", "", { name: "a" })).status, 409);
    assert.deepEqual(await call("POST", "", { name: "b" }), {
      status: 403,
      body: { code: "QuotaExceeded", message: "the quota of 1 machines is used up" },
    });
    assert.equal((await call("POST", "/m-1/stop")).body.state, "stopped");
    assert.equal(await instances.isShutdown(node("a"), signal), true);
    assert.equal((await call("POST", "/m-1/start")).body.state, "running");
    assert.deepEqual((await call("GET", "/m-1")).body, made.body);
    const faults = { items: [{ operation: "machine.delete", message: "busy", times: 1 }] };
    assert.equal((await call("PUT", "/../faults", faults)).status, 200);
    assert.equal((await call("DELETE", "/m-1")).status, 503);
    assert.equal((await call("DELETE", "/m-1")).status, 200);
    assert.equal((await call("GET", "/m-1")).status, 404);
    assert.equal((await call("POST", "", { name: 7 })).status, 400);
    assert.equal((await call("PATCH", "")).status, 404);
    await provider.close?.();
  });

  test("a configuration with an unknown field is refused", async () => {
    await assert.rejects(start("lattency: 1s"), /unknown field "lattency"/);
  });
});
