import assert from "node:assert/strict";
import { test } from "vitest";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Result, success } from "#api/meta/status.ts";
import { TransportError } from "#client/transport.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { clientOf } from "#testing/client-of.ts";
import { KnownClaims } from "./claims.ts";

const metadata = { uid: "u", namespace: "shop", name: "web" };
const volume = { name: "data", persistentVolumeClaim: { claimName: "disk" } };
const pod = build(podKind, { metadata, spec: { containers: [], volumes: [volume] } });
const OBJECTS = new Map(
  [
    build(persistentVolumeClaimKind, {
      metadata: { name: "disk", namespace: "shop" },
      spec: { volumeName: "pv" },
      status: { phase: "Bound" },
    }),
    build(persistentVolumeKind, { metadata: { name: "pv" }, spec: {} }),
  ].map((object) => [object.metadata.name, object]),
);

const refused = (code: number): Result<never> => ({
  ok: false,
  status: { metadata: {}, code, message: `code ${code}` },
});

for (const { name, fault, isKept } of [
  { name: "not reached", fault: () => Promise.reject(new TransportError("gone")), isKept: true },
  { name: "starting (503)", fault: () => refused(503), isKept: true },
  { name: "overloaded (429)", fault: () => refused(429), isKept: true },
  { name: "without the claim (404)", fault: () => refused(404), isKept: false },
]) {
  test(`KnownClaims: API server ${name}: a claim that was read before is ${isKept ? "kept" : "not"} used`, async () => {
    using clock = new VirtualClock();
    const claims = new KnownClaims();
    const there = clientOf((call) => success(OBJECTS.get(call.name ?? "")), clock);
    const away = clientOf(fault, clock);
    /** Waits for all attempts of a read. */
    const read = async (client: typeof away) => {
      const [answer] = await Promise.allSettled([
        claims.get(client, pod, volume),
        clock.advance(60_000),
      ]);
      if (answer.status === "rejected") throw answer.reason;
      return answer.value;
    };
    await assert.rejects(read(away));
    const first = await read(there);
    assert.equal(first?.persistentVolume.metadata.name, "pv");
    if (isKept) assert.equal(await read(away), first);
    else await assert.rejects(read(away), /error getting PVC shop\/disk: code 404/);
    claims.forget("u");
    await assert.rejects(read(away));
  });
}
