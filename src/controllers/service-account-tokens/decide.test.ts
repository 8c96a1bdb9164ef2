import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Secret, ServiceAccount } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { legacyTokenCleaner } from "./cleaner.ts";
import { serviceAccountTokens } from "./tokens.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse("2030-06-01T00:00:00Z");
const INVALID = "kubernetes.io/legacy-token-invalid-since";
const LAST_USED = "kubernetes.io/legacy-token-last-used";

function secret(
  data: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): Secret {
  return build(secretKind, {
    metadata: {
      name: "t",
      labels,
      creationTimestamp: "2030-01-01T00:00:00Z",
      annotations: {
        "kubernetes.io/service-account.name": "robot",
        "kubernetes.io/service-account.uid": "uid-robot",
      },
    },
    type: "kubernetes.io/service-account-token",
    data,
  });
}

const robot = (...secrets: readonly string[]): ServiceAccount =>
  build(serviceAccountKind, {
    metadata: { name: "robot" },
    secrets: secrets.map((name) => ({ name })),
  });
const FULL = { "ca.crt": btoa("CA"), namespace: btoa("default"), token: btoa("TOKEN") };

describe("tokens decide", () => {
  const tokens = serviceAccountTokens({ rootCa: "CA", sign: () => "TOKEN" });
  const of = (
    found: Secret | undefined,
    account: ServiceAccount | undefined,
    owner?: { readonly account: string; readonly uid: string },
    token: string | undefined = undefined,
  ) => tokens.decide({ name: "t", secret: found, account, owner, token }, NOW_MS);

  test("what is missing is filled in, and what is there stays", () => {
    const outcome = of(secret({ mine: btoa("x") }), robot(), undefined, "TOKEN");
    assert.deepEqual(describeOutcome(outcome), { writes: ["update Secret t"] });
    assert.deepEqual(written(outcome, secretKind)?.data, { mine: btoa("x"), ...FULL });
    assert.deepEqual(outcome.remember, { account: "robot", uid: "uid-robot" });
  });
  test("nothing is missing", () =>
    assert.deepEqual(describeOutcome(of(secret(FULL), robot())), { writes: [] }));
  test("without its account it goes", () =>
    assert.deepEqual(describeOutcome(of(secret(FULL), undefined)), {
      writes: ["delete Secret t"],
    }));
  test("a deleted token Secret is removed from secrets of its ServiceAccount", () => {
    const outcome = of(undefined, robot("t", "u"), { account: "robot", uid: "uid-robot" });
    assert.deepEqual(describeOutcome(outcome), { writes: ["update ServiceAccount robot"] });
    assert.deepEqual(written(outcome, serviceAccountKind)?.secrets, [{ name: "u" }]);
  });
});

describe("legacy token cleaner decides", () => {
  const cleaner = legacyTokenCleaner(10 * DAY_MS);
  const later: OutcomeText = { writes: [], recheckInMs: DAY_MS };
  const rows: {
    name: string;
    labels?: Readonly<Record<string, string>>;
    account?: ServiceAccount;
    tracked?: string | undefined;
    mounted?: boolean;
    want: OutcomeText;
  }[] = [
    {
      name: "a token that was never used is marked invalid",
      want: { writes: ["patch Secret t"], recheckInMs: DAY_MS },
    },
    {
      name: "a token that was used lately is kept",
      labels: { [LAST_USED]: "2030-05-30" },
      want: later,
    },
    {
      name: "a token that was last used long ago is marked invalid",
      labels: { [LAST_USED]: "2030-03-01" },
      want: { writes: ["patch Secret t"], recheckInMs: DAY_MS },
    },
    { name: "a token that a pod mounts is kept", mounted: true, want: later },
    {
      name: "a token is kept while its use has not been tracked for long",
      tracked: "2030-05-25",
      want: later,
    },
    {
      name: "a token is kept while its use is not tracked at all",
      tracked: undefined,
      want: later,
    },
    {
      name: "a token that no service account lists is left alone",
      account: robot(),
      want: { writes: [] },
    },
    {
      name: "a token that was marked invalid lately is kept",
      labels: { [INVALID]: "2030-05-30" },
      want: later,
    },
    {
      name: "a token that has been invalid for long is deleted",
      labels: { [INVALID]: "2030-04-30" },
      want: { writes: ["delete Secret t"] },
    },
  ];
  for (const row of rows) {
    test(row.name, () => {
      const { labels = {}, account = robot("t"), mounted = false } = row;
      const state = {
        secret: secret(FULL, labels),
        account,
        trackedSince: "tracked" in row ? row.tracked : "2030-01-01",
        isMounted: mounted,
      };
      assert.deepEqual(describeOutcome(cleaner.decide(state, NOW_MS)), row.want);
    });
  }
});
