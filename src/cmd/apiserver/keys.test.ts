import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { servingPair } from "#testing/serving-pair.ts";
import { parseFlags } from "./flags/flags.ts";
import { openKeys } from "./keys.ts";

const DAY_MS = 86_400_000;

test("certificates are renewed while the server runs, those for kubelets too", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-keys-"));
  const life = new AbortController();
  try {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const flags = parseFlags(["--data-dir", directory]);
    const keys = openKeys(flags, { clock, logger: silentLogger, hostname: "h" }, "192.0.2.1");
    const shown = () => [keys.kubeletClient().certificatePem, keys.tlsContext().cert];
    const before = shown();
    let renewals = 0;
    keys.onRenewal(() => {
      renewals += 1;
    });
    void keys.run(life.signal);
    await clock.advance(30 * DAY_MS);
    assert.deepEqual(shown(), before);
    await clock.advance(330 * DAY_MS);
    const after = shown();
    assert.ok(renewals > 0);
    assert.ok(after.every((pem, index) => pem !== before[index]));
    assert.equal(statSync(join(directory, "pki", "apiserver.key")).mode & 0o777, 0o600);
  } finally {
    life.abort();
    rmSync(directory, { recursive: true, force: true });
  }
});

test("certificates by name are read anew when their files change", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-keys-"));
  const life = new AbortController();
  try {
    const [cert, key] = [join(directory, "a.crt"), join(directory, "a.key")];
    const put = (): string => {
      const pair = servingPair();
      writeFileSync(key, pair.key);
      writeFileSync(cert, pair.cert);
      return pair.cert;
    };
    const first = put();
    const flags = parseFlags(["--data-dir", directory, "--tls-sni-cert-key", `${cert},${key}:x.y`]);
    const surroundings = { clock: systemClock, logger: silentLogger, hostname: "h" };
    const keys = openKeys(flags, surroundings, "192.0.2.1");
    const shown = () => keys.namedCertificates().map((one) => [one.cert, one.names]);
    assert.deepEqual(shown(), [[first, ["x.y"]]]);
    const renewed = new Promise<void>((resolve) => keys.onRenewal(resolve));
    void keys.run(life.signal);
    const second = put();
    await renewed;
    assert.deepEqual(shown(), [[second, ["x.y"]]]);
  } finally {
    life.abort();
    rmSync(directory, { recursive: true, force: true });
  }
});
