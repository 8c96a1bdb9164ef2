import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { success } from "#api/meta/status.ts";
import { openAuthority } from "#pki/authority.ts";
import type { Loopback } from "./loopback.ts";
import { publishConfig } from "./published-config.ts";

const NOW_MS = Date.UTC(2030, 0, 1);
const YEAR_MS = 365 * 86_400_000;

test("publishConfig: what other servers said stays while it is valid", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-published-"));
  const pem = (name: string, atMs: number): string =>
    openAuthority(join(directory, name), name, atMs).certificatePem;
  const maps = new Map<string, ConfigMap>();
  const loopback = {
    async ensure(_kind: unknown, object: ConfigMap, change?: (draft: ConfigMap) => void) {
      const name = object.metadata.name!;
      const there = maps.get(name);
      if (there === undefined) maps.set(name, object);
      else change?.(there);
      return success(maps.get(name));
    },
  } as unknown as Loopback;
  const publish = async (clientCaPem: string, allowedNames: string[]): Promise<unknown> => {
    const headers = { usernameHeaders: ["X-User"], groupHeaders: [], extraHeaderPrefixes: [] };
    const frontProxy = { ...headers, uidHeaders: [], allowedNames, caPem: clientCaPem };
    await publishConfig(loopback, { clientCaPem, frontProxy, nowMs: NOW_MS });
    return maps.get("extension-apiserver-authentication")?.data;
  };
  const expired = pem("expired", NOW_MS - 11 * YEAR_MS);
  const [one, two] = [pem("one", NOW_MS), pem("two", NOW_MS)];
  rmSync(directory, { recursive: true });
  await publish(one + expired, ["a"]);
  assert.deepEqual(await publish(two, ["b", "a"]), {
    "client-ca-file": one + two,
    "requestheader-client-ca-file": one + two,
    "requestheader-allowed-names": '["a","b"]',
    "requestheader-username-headers": '["X-User"]',
    "requestheader-group-headers": "[]",
    "requestheader-extra-headers-prefix": "[]",
  });
});
