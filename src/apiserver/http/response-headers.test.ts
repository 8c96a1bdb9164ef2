import assert from "node:assert/strict";
import { test } from "vitest";
import type { OutgoingHeaders } from "../response/answer.ts";
import type { HttpRequest, Reply } from "./exchange.ts";
import { withResponseHeaders } from "./response-headers.ts";

const RULES = {
  allowedOrigins: [/^https:\/\/a\.example$/],
  strictTransportSecurity: ["max-age=60", "preload"],
};

async function headersFor(method: string, origin?: string): Promise<[number, OutgoingHeaders]> {
  let sent: [number, OutgoingHeaders] | undefined;
  const reply = {
    send: (code: number, headers: OutgoingHeaders) => {
      sent = [code, headers];
    },
  } as Partial<Reply> as Reply;
  const request = { method, headers: { origin } } as Partial<HttpRequest> as HttpRequest;
  const handle = withResponseHeaders(RULES, async (_request, to) =>
    to.send(200, { "content-type": "text/plain" }, new Uint8Array(0)),
  );
  await handle(request, reply);
  return sent!;
}

test("HTTP server: Strict-Transport-Security is on every response", async () => {
  assert.deepEqual(await headersFor("GET"), [
    200,
    { "strict-transport-security": "max-age=60; preload", "content-type": "text/plain" },
  ]);
});

test("CORS headers are for allowed origins only", async () => {
  const [, allowed] = await headersFor("GET", "https://a.example");
  assert.equal(allowed["access-control-allow-origin"], "https://a.example");
  assert.equal(allowed["access-control-allow-credentials"], "true");
  const [, other] = await headersFor("GET", "https://a.example.evil");
  assert.equal(other["access-control-allow-origin"], undefined);
});

test("a CORS preflight is answered without the API", async () => {
  const [code, headers] = await headersFor("OPTIONS", "https://a.example");
  assert.equal(code, 204);
  assert.match(String(headers["access-control-allow-methods"]), /PATCH/);
});
