import assert from "node:assert/strict";
import { test } from "vitest";
import { createLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { anonymousUser } from "../authn/users.ts";
import type { ApiRequest } from "../request/request.ts";
import { requestInfoOf } from "../request/request-info.ts";
import { healthPaths } from "./health-paths.ts";

test("healthPaths: readyz: why a check fails is logged at once, then every 30 s, and that it passes again", async () => {
  using clock = new VirtualClock("2030-01-01T00:00:00Z");
  const lines: string[] = [];
  const logger = createLogger({
    level: "info",
    clock,
    format: "json",
    write: (line) => lines.push(line),
  });
  let fault: string | undefined;
  const etcd = { name: "etcd", check: () => fault };
  const ask = healthPaths({
    checks: { healthz: [], livez: [], readyz: [{ name: "ping", check: () => undefined }, etcd] },
    count: () => undefined,
    clock,
    logger,
  });
  const readyz = async (): Promise<number | undefined> => {
    const request = { path: "/readyz", query: new URLSearchParams() } as ApiRequest;
    return (await ask(request, requestInfoOf("GET", "/readyz", request.query), anonymousUser))
      ?.code;
  };
  const logged = (): unknown[] =>
    lines.splice(0).map((line) => {
      const { ts: _ts, ...fields } = JSON.parse(line);
      return fields;
    });

  assert.equal(await readyz(), 200);
  assert.deepEqual(logged(), []);
  fault = "no leader";
  const failed = {
    level: "warn",
    v: 0,
    msg: "health check failed",
    path: "/readyz",
    checks: { etcd: "no leader" },
  };
  assert.equal(await readyz(), 500);
  assert.equal(await readyz(), 500);
  assert.deepEqual(logged(), [failed]);
  await clock.advance(30_000);
  assert.equal(await readyz(), 500);
  assert.deepEqual(logged(), [failed]);
  fault = undefined;
  assert.equal(await readyz(), 200);
  assert.deepEqual(logged(), [
    { level: "info", v: 0, msg: "health checks pass again", path: "/readyz" },
  ]);
});
