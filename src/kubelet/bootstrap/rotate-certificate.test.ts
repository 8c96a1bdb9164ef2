import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { runCertificateRotation } from "./rotate-certificate.ts";

test("certificate rotation: failures are counted, and the age of a certificate that is replaced", async () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-rotate-"));
  try {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const authority = openAuthority(join(folder, "ca"), "ca", clock.nowMs());
    const issued = (): KeyPair => {
      const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
      return issueLeaf(authority, { subject, purpose: "client auth" }, clock.nowMs());
    };
    const failures: number[] = [];
    const ages: number[] = [];
    const saved: KeyPair[] = [];
    let asked = 0;
    const ends = new AbortController();
    const current = issued();
    const running = runCertificateRotation(
      {
        ...{ what: "client certificate", current, clock, random: seededRandom(1) },
        logger: silentLogger,
        metrics: {
          failed: () => failures.push(clock.nowMs()),
          rotated: (seconds) => ages.push(seconds),
        },
        request: async () => {
          asked += 1;
          if (asked <= 2) throw new Error("was denied");
          return issued();
        },
        save: async (pair) => void saved.push(pair),
      },
      ends.signal,
    );
    const yearMs = 365 * 24 * 3_600_000;
    await clock.advance(yearMs * 0.6);
    assert.equal(asked, 0);
    while (saved.length === 0) await clock.advance(3_600_000);
    assert.equal(failures.length, 2);
    assert.equal(saved.length, 1);
    assert.equal(ages.length, 1);
    const ageShare = (ages[0] ?? 0) / (yearMs / 1000);
    assert.ok(ageShare > 0.69 && ageShare < 0.91, String(ageShare));
    ends.abort();
    await running;
  } finally {
    rmSync(folder, { recursive: true });
  }
});
