import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { newKey, privateKeyPem } from "#pki/key-pair.ts";
import { build } from "#testing/build.ts";
import { KubeletFetch } from "./kubelet-fetch.ts";

describe("kubelet fetch", () => {
  let server: Server;
  const sockets: Socket[] = [];
  const requests: Socket[] = [];
  let closesKept = false;

  beforeAll(async () => {
    const { privateKey, publicKey } = newKey();
    const cert = issueCertificate(
      {
        subject: { commonName: "node" },
        publicKey,
        usages: ["digital signature", "server auth"],
        altNames: ["127.0.0.1"],
        notBeforeMs: Date.now() - 60_000,
        notAfterMs: Date.now() + 3_600_000,
      },
      { key: privateKey },
    );
    server = createServer({ cert, key: privateKeyPem(privateKey) }, (request, reply) => {
      const isKept = requests.includes(request.socket);
      requests.push(request.socket);
      if (isKept && closesKept) request.socket.destroy();
      else reply.end("page");
    });
    server.keepAliveTimeout = 60_000;
    server.on("secureConnection", (socket: Socket) => sockets.push(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  function nodeOf(): Node {
    const { port } = server.address() as AddressInfo;
    return build(nodeKind, {
      metadata: { name: "n" },
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    });
  }

  test("keeps the connection between scrapes, and asks again if the kubelet closed it", async () => {
    using kubelets = new KubeletFetch({
      ...{ addressTypes: ["InternalIP"], useReportedPort: true },
      tls: { verify: "nothing" },
    });
    const { signal } = new AbortController();
    const get = () => kubelets.get(nodeOf(), "/metrics/resource", signal);
    assert.deepEqual([await get(), await get()], ["page", "page"]);
    assert.equal(sockets.length, 1);
    closesKept = true;
    assert.equal(await get(), "page");
    assert.equal(sockets.length, 2);
  });
});
