import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { servingPair } from "#testing/serving-pair.ts";
import { ApiAccess } from "./api-access.ts";

const { signal } = new AbortController();

describe("ApiAccess of the dashboard", () => {
  let server: Server;
  let connections = 0;
  const requests: Socket[] = [];
  let closesKept = false;

  beforeAll(async () => {
    server = createServer(servingPair(), (request, reply) => {
      const isKept = requests.includes(request.socket);
      requests.push(request.socket);
      if (isKept && closesKept) request.socket.destroy();
      else reply.end("{}");
    });
    server.on("secureConnection", () => void (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterEach(() => {
    connections = 0;
    closesKept = false;
    requests.length = 0;
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function access(): ApiAccess {
    const { port } = server.address() as AddressInfo;
    return new ApiAccess({ server: `https://127.0.0.1:${port}`, insecure: true });
  }

  test("get: pages of a list share a kept connection, a watch has one of its own", async () => {
    using api = access();
    await ended(await api.get("/api/v1/pods?limit=100", "application/json", signal));
    await ended(await api.get("/api/v1/pods?continue=x", "application/json", signal));
    assert.equal(connections, 1);
    await ended(await api.watch("/api/v1/pods?watch=1", "application/json", signal));
    assert.equal(connections, 2);
  });

  test("get: a kept connection that the server closed meanwhile is replaced", async () => {
    using api = access();
    await ended(await api.get("/api/v1/pods", "application/json", signal));
    closesKept = true;
    const { statusCode } = await ended(await api.get("/api/v1/pods", "application/json", signal));
    assert.deepEqual([statusCode, connections], [200, 2]);
  });

  test("connectAhead: the first requests of a page find connections open", async () => {
    using api = access();
    await api.connectAhead(signal);
    await new Promise((resolve) => setImmediate(resolve));
    const opened = connections;
    const paths = ["/api/v1/nodes", "/api/v1/namespaces", "/api", "/apis"];
    await Promise.all(
      paths.map(async (path) => await ended(await api.get(path, "application/json", signal))),
    );
    assert.deepEqual([opened, connections], [4, 4]);
  });
});

async function ended(answer: IncomingMessage): Promise<IncomingMessage> {
  answer.resume();
  await new Promise((resolve) => answer.once("end", resolve));
  await new Promise((resolve) => setImmediate(resolve)); // the agent takes the connection back
  return answer;
}
