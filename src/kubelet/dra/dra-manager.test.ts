import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { success } from "#api/meta/status.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { clientOf } from "#testing/client-of.ts";
import { DraManager } from "./dra-manager.ts";

const pod = build(podKind, {
  metadata: { uid: "u", namespace: "shop", name: "web" },
  spec: { resourceClaims: [{ name: "light", resourceClaimName: "lamp" }] },
});
const claim = build(resourceClaimKind, {
  metadata: { uid: "c1", namespace: "shop", name: "lamp" },
  status: {
    reservedFor: [{ uid: "u" }],
    allocation: { devices: { results: [{ driver: "lamps" }] } },
  },
});

test("DRA: a claim that is prepared is not read again; containers start while the API server is away", async () => {
  const root = mkdtempSync(join(tmpdir(), "k8ts-dra-"));
  try {
    const calls: string[] = [];
    let isAway = false;
    const client = clientOf(() => {
      if (isAway) throw new Error("the API server is away");
      calls.push("read");
      return success(claim);
    }, new VirtualClock());
    const plugins = {
      prepare: async () => {
        calls.push("prepare");
        return [];
      },
      unprepare: async () => void calls.push("unprepare"),
    };
    const metrics = { draOperation: <T>(_name: string, work: () => Promise<T>) => work() };
    const dra = new DraManager({ client, plugins, root, metrics });
    await dra.load();
    assert.deepEqual([...dra.claimsInUse()], [["<any>", 0]]);
    await dra.prepare(pod);
    assert.deepEqual(
      [...dra.claimsInUse()],
      [
        ["<any>", 1],
        ["lamps", 1],
      ],
    );
    isAway = true;
    await dra.prepare(pod);
    assert.deepEqual(calls, ["read", "prepare"]);
    await dra.unprepare("u");
    assert.deepEqual(calls, ["read", "prepare", "unprepare"]);
    await assert.rejects(dra.prepare(pod), /is away/);
  } finally {
    rmSync(root, { recursive: true });
  }
});
