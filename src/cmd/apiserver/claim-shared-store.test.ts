import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { ClusterPki } from "#pki/cluster-pki.ts";
import { createMemoryStore } from "#store/memory.ts";
import { rejects } from "#store/testing/contract-suite.ts";
import { claimSharedStore } from "./claim-shared-store.ts";

test("an etcd is claimed by one certificate authority: the same comes again, another is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-claim-test-"));
  try {
    using clock = new VirtualClock("2030-01-01T00:00:00Z");
    const authority = (name: string): string =>
      ClusterPki.open({
        directory: join(folder, name),
        servingNames: ["localhost"],
        serverUrl: "https://127.0.0.1:6443",
        clock,
        logger: silentLogger,
      }).material.clientCaPem;
    const flags = (dataDir: string, etcdPrefix = "/registry") => ({ dataDir, etcdPrefix });
    await using store = createMemoryStore({ clock });
    await claimSharedStore(store, authority("first"), flags("first"));
    await claimSharedStore(store, authority("first"), flags("elsewhere"));
    await rejects(claimSharedStore(store, authority("second"), flags("second")), "InUse");
    await claimSharedStore(store, authority("second"), flags("second", "/clusters/b"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
