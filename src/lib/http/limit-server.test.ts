import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "vitest";
import { limitServer } from "./limit-server.ts";

test("limitServer: connections beyond the limit are closed", async () => {
  const server = limitServer(createServer(), { connectionsMax: 1 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const first = connect(port, "127.0.0.1");
  await once(first, "connect");
  const second = connect(port, "127.0.0.1");
  second.on("error", () => undefined);
  await once(second, "close");
  assert.equal(first.destroyed, false);
  first.destroy();
  server.close();
});

test("limitServer: a request may not take longer than its headers, and the rest has defaults", () => {
  const { headersTimeout, requestTimeout, maxConnections, maxHeadersCount, keepAliveTimeout } =
    limitServer(createServer(), { requestWithinMs: 3_000, idleMs: 90_000 });
  assert.deepEqual(
    [headersTimeout, requestTimeout, maxConnections, maxHeadersCount, keepAliveTimeout],
    [3_000, 3_000, 100, 2_000, 90_000],
  );
});
