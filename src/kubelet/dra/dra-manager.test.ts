import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { DraManager } from "./dra-manager.ts";
import type { DraPlugins } from "./dra-plugins.ts";

const pod = {
  metadata: { uid: "u", namespace: "shop", name: "web" },
  spec: { resourceClaims: [{ name: "light", resourceClaimName: "lamp" }] },
  status: {},
} as unknown as Pod;
const claim = {
  metadata: { uid: "c1", namespace: "shop", name: "lamp" },
  status: {
    reservedFor: [{ uid: "u" }],
    allocation: { devices: { results: [{ driver: "lamps" }] } },
  },
};

test("DRA: a claim that is prepared is not read again; containers start while the API server is away", async () => {
  const root = mkdtempSync(join(tmpdir(), "k8ts-dra-"));
  try {
    const calls: string[] = [];
    let isAway = false;
    const client = {
      get: async () => {
        if (isAway) throw new Error("the API server is away");
        calls.push("read");
        return { ok: true, value: claim };
      },
    } as unknown as Client;
    const plugins = {
      prepare: async () => {
        calls.push("prepare");
        return [];
      },
      unprepare: async () => void calls.push("unprepare"),
    } as unknown as DraPlugins;
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
