import assert from "node:assert/strict";
import { test } from "vitest";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { createBootstrapTokenAuthenticator } from "./bootstrap-tokens.ts";

const GOOD = {
  "token-id": "abcdef",
  "token-secret": "0123456789abcdef",
  "usage-bootstrap-authentication": "true",
};

const cases: { name: string; data: Record<string, string>; groups: string[] | undefined }[] = [
  { name: "a good one", data: GOOD, groups: ["system:bootstrappers", "system:authenticated"] },
  {
    name: "with groups of its own",
    data: { ...GOOD, "auth-extra-groups": "system:bootstrappers:workers" },
    groups: ["system:bootstrappers", "system:bootstrappers:workers", "system:authenticated"],
  },
  {
    name: "not with other people's groups",
    data: { ...GOOD, "auth-extra-groups": "system:masters" },
    groups: undefined,
  },
  {
    name: "not with another secret",
    data: { ...GOOD, "token-secret": "x123456789abcdef" },
    groups: undefined,
  },
  {
    name: "not for other uses",
    data: { ...GOOD, "usage-bootstrap-authentication": "false" },
    groups: undefined,
  },
  {
    name: "not after its time",
    data: { ...GOOD, expiration: "2029-12-31T23:59:59Z" },
    groups: undefined,
  },
  { name: "not with an unreadable time", data: { ...GOOD, expiration: "soon" }, groups: undefined },
];

for (const { name, data, groups } of cases) {
  test(`bootstrap token: ${name}`, () => {
    const objects = new MemoryObjects();
    const encoded = Object.entries(data).map(([key, text]) => [key, btoa(text)]);
    objects.put(secretKind, {
      metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      data: Object.fromEntries(encoded),
    });
    const tokens = createBootstrapTokenAuthenticator(
      objects,
      new VirtualClock("2030-01-01T00:00:00Z"),
    );
    assert.deepEqual(
      tokens.authenticateToken("abcdef.0123456789abcdef"),
      groups === undefined
        ? { outcome: "unknown" }
        : { outcome: "known", user: { name: "system:bootstrap:abcdef", groups } },
    );
  });
}
