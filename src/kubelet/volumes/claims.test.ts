import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { TransportError } from "#client/transport.ts";
import { KnownClaims } from "./claims.ts";

const pod = { metadata: { uid: "u", namespace: "shop", name: "web" } } as unknown as Pod;
const volume = { name: "data", persistentVolumeClaim: { claimName: "disk" } };
const OBJECTS: Readonly<Record<string, object>> = {
  disk: { metadata: {}, spec: { volumeName: "pv" }, status: { phase: "Bound" } },
  pv: { metadata: { name: "pv" }, spec: {} },
};

/** Answers with the objects, or what `fault` says instead. */
function clientWith(fault: () => unknown): Client {
  const get = async (_kind: unknown, { name }: { name: string }): Promise<unknown> =>
    fault() ?? { ok: true, value: OBJECTS[name] };
  return { get } as unknown as Client;
}

const refused = (code: number) => ({ ok: false, status: { code, message: `code ${code}` } });

for (const { name, fault, isKept } of [
  { name: "not reached", fault: () => Promise.reject(new TransportError("gone")), isKept: true },
  { name: "starting (503)", fault: () => refused(503), isKept: true },
  { name: "overloaded (429)", fault: () => refused(429), isKept: true },
  { name: "without the claim (404)", fault: () => refused(404), isKept: false },
]) {
  test(`KnownClaims: API server ${name}: a claim that was read before is ${isKept ? "kept" : "not"} used`, async () => {
    const claims = new KnownClaims();
    const away = clientWith(fault);
    await assert.rejects(claims.get(away, pod, volume));
    const first = await claims.get(
      clientWith(() => undefined),
      pod,
      volume,
    );
    assert.equal(first?.persistentVolume.metadata.name, "pv");
    if (isKept) assert.equal(await claims.get(away, pod, volume), first);
    else
      await assert.rejects(claims.get(away, pod, volume), /error getting PVC shop\/disk: code 404/);
    claims.forget("u");
    await assert.rejects(claims.get(away, pod, volume));
  });
}
