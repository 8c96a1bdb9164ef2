/** A certificate to serve with, and its key, of an authority that is forgotten at once. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";

export function servingPair(): { readonly cert: string; readonly key: string } {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-pair-"));
  try {
    const nowMs = systemClock.nowMs();
    const authority = openAuthority(join(directory, "ca"), "test", nowMs);
    const request = { subject: { commonName: "test" }, purpose: "server auth" } as const;
    const { certificatePem, keyPem } = issueLeaf(authority, request, nowMs);
    return { cert: certificatePem, key: keyPem };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
