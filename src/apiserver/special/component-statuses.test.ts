import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { issueCertificate } from "#pki/certificate.ts";
import { newKey, privateKeyPem } from "#pki/key-pair.ts";
import { startTestApi } from "../api.testing.ts";
import { probeComponent } from "./probe-component.ts";

const LIST = "/api/v1/componentstatuses";

test("ComponentStatus: scheduler, controller-manager and etcd are listed", async () => {
  const components = {
    scheduler: async () => ({ well: false, message: "asleep" }),
    "controller-manager": async () => ({ well: true, message: "ok" }),
  };
  await using api = await startTestApi({ components });
  const { items } = await api.want(200, "GET", LIST);
  const rows = items.map(({ metadata, conditions: [healthy] }: (typeof items)[number]) =>
    [metadata.name, healthy.type, healthy.status, healthy.message].join(" "),
  );
  assert.deepEqual(rows, [
    "controller-manager Healthy True ok",
    "etcd-0 Healthy True ok",
    "scheduler Healthy False asleep",
  ]);
  const one = await api.want(200, "GET", `${LIST}/scheduler`);
  assert.equal(one.conditions[0].message, "asleep");
  const { message } = await api.want(404, "GET", `${LIST}/nope`);
  assert.equal(message, 'componentstatus "nope" not found');
});

describe("probeComponent asks /healthz over HTTPS", () => {
  const answers: Record<string, { code: number; body: string }> = {};
  const { privateKey, publicKey } = newKey();
  const cert = issueCertificate(
    {
      subject: { commonName: "part" },
      publicKey,
      usages: ["server auth"],
      notBeforeMs: Date.now() - 1_000,
      notAfterMs: Date.now() + 3_600_000,
    },
    { key: privateKey },
  );
  const server = createServer({ cert, key: privateKeyPem(privateKey) }, ({ url = "" }, reply) => {
    const { code, body } = answers[url] ?? { code: 404, body: "" };
    reply.writeHead(code).end(body);
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => server.close());

  test("200 is healthy with the body as message", async () => {
    answers["/healthz"] = { code: 200, body: "ok" };
    assert.deepEqual(await probeComponent(port)(), { well: true, message: "ok" });
  });

  test("500 is unhealthy without its body", async () => {
    answers["/healthz"] = { code: 500, body: "secret reasons" };
    assert.deepEqual(await probeComponent(port)(), {
      well: false,
      message: "HTTP probe failed with statuscode: 500",
    });
  });

  test("a refused connection is unhealthy", async () => {
    assert.deepEqual(await probeComponent(1)(), {
      well: false,
      message:
        'Get "https://127.0.0.1:1/healthz": dial tcp 127.0.0.1:1: connect: connection refused',
    });
  });
});
