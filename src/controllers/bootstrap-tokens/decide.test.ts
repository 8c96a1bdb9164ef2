import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ConfigMap, Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { bootstrapSigner } from "./bootstrap-signer.ts";
import { tokenCleaner } from "./token-cleaner.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const LATER = "2030-01-01T01:00:00Z";

function token(
  id: string,
  expiration?: string,
  more: Readonly<Record<string, string>> = {},
): Secret {
  const data: Readonly<Record<string, string>> = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-signing": "true",
    ...(expiration === undefined ? {} : { expiration }),
    ...more,
  };
  return build(secretKind, {
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(Object.entries(data).map(([name, text]) => [name, btoa(text)])),
  });
}

describe("token cleaner decides", () => {
  const rows: { name: string; secret: Secret | undefined; want: OutcomeText }[] = [
    { name: "a Secret that is gone needs nothing", secret: undefined, want: { writes: [] } },
    { name: "a token without expiration is kept", secret: token("aaaaaa"), want: { writes: [] } },
    {
      name: "a token that expires later is looked at again then",
      secret: token("aaaaaa", LATER),
      want: { writes: [], recheckInMs: 3_600_000 },
    },
    {
      name: "an expired token is deleted",
      secret: token("aaaaaa", "2030-01-01T00:00:00Z"),
      want: { writes: ["delete Secret bootstrap-token-aaaaaa"] },
    },
  ];
  for (const { name, secret, want } of rows) {
    test(name, () => assert.deepEqual(describeOutcome(tokenCleaner.decide(secret, NOW_MS)), want));
  }
});

describe("controller: bootstrap signer decides", () => {
  const signer = bootstrapSigner((key, text) => `${key} ${text.length}`);
  const info = (data: Readonly<Record<string, string>>): ConfigMap =>
    build(configMapKind, { metadata: { name: "cluster-info", namespace: "kube-public" }, data });
  const config = { kubeconfig: "text" };
  const signed = written(
    signer.decide({ info: info(config), secrets: [token("aaaaaa", LATER)] }, NOW_MS),
    configMapKind,
  )!;
  const UPDATE = ["update ConfigMap cluster-info"];
  const rows: {
    name: string;
    info: ConfigMap | undefined;
    secrets: readonly Secret[];
    want: OutcomeText;
    keys?: readonly string[];
  }[] = [
    {
      name: "without the ConfigMap cluster-info nothing is signed",
      info: undefined,
      secrets: [token("aaaaaa")],
      want: { writes: [] },
    },
    {
      name: "cluster-info is signed by every token that may",
      info: info(config),
      secrets: [token("aaaaaa"), token("bbbbbb", undefined, { "usage-bootstrap-signing": "no" })],
      want: { writes: UPDATE },
      keys: ["kubeconfig", "jws-kubeconfig-aaaaaa"],
    },
    {
      name: "signed already: until the token ends",
      info: signed,
      secrets: [token("aaaaaa", LATER)],
      want: { writes: [], recheckInMs: 3_600_000 },
    },
    {
      name: "a token that is gone signs no more",
      info: signed,
      secrets: [],
      want: { writes: UPDATE },
      keys: ["kubeconfig"],
    },
    {
      name: "another text is signed anew",
      info: info({ ...signed.data, kubeconfig: "another text" }),
      secrets: [token("aaaaaa")],
      want: { writes: UPDATE },
      keys: ["kubeconfig", "jws-kubeconfig-aaaaaa"],
    },
  ];
  for (const { name, info: map, secrets, want, keys } of rows) {
    test(name, () => {
      const outcome = signer.decide({ info: map, secrets }, NOW_MS);
      assert.deepEqual(describeOutcome(outcome), want);
      const data = written(outcome, configMapKind)?.data;
      assert.deepEqual(data && Object.keys(data), keys);
    });
  }
});
