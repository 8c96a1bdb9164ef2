import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "vitest";
import type { Secret } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { bootstrapSigner } from "./bootstrap-signer.ts";
import { tokenCleaner } from "./token-cleaner.ts";
import { signingToken } from "./token-secret.ts";

const AT = "2030-01-01T00:00:00Z";
const AT_MS = Date.parse(AT);
const hmac = (key: string, text: string): string =>
  createHmac("sha256", key).update(text).digest("base64url");

function token(data: Readonly<Record<string, string>> = {}, id = "abcdef"): Draft<Secret> {
  const all: Readonly<Record<string, string>> = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-signing": "true",
    ...data,
  };
  return {
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(Object.entries(all).map(([key, value]) => [key, btoa(value)])),
  };
}

describe("tokens that may sign", () => {
  const rows: { name: string; data: Readonly<Record<string, string>>; want: boolean }[] = [
    { name: "a complete token signs", data: {}, want: true },
    {
      name: "a token without usage-bootstrap-signing does not sign",
      data: { "usage-bootstrap-signing": "no" },
      want: false,
    },
    {
      name: "a token whose token-id differs from its name does not sign",
      data: { "token-id": "fedcba" },
      want: false,
    },
    {
      name: "a token without token-secret does not sign",
      data: { "token-secret": "" },
      want: false,
    },
    { name: "a token signs no more once it is expired", data: { expiration: AT }, want: false },
    {
      name: "a token signs until it expires",
      data: { expiration: "2030-01-01T00:00:01Z" },
      want: true,
    },
    {
      name: "a token with an unreadable expiration does not sign",
      data: { expiration: "soon" },
      want: false,
    },
  ];
  for (const { name, data, want } of rows) {
    test(name, () => assert.equal(signingToken(token(data) as Secret, AT_MS) !== undefined, want));
  }
});

test("token cleaner: an expired token goes, days later, to the second", async () => {
  await using cluster = await startCluster({ at: AT, controllers: [tokenCleaner] });
  await cluster.seed(secretKind, token({ expiration: "2030-01-04T00:00:00Z" }));
  await cluster.seed(secretKind, token({}, "forevr"));
  await cluster.advance(3 * 86_400_000 - 1);
  assert.equal(cluster.names(secretKind).length, 2);
  await cluster.advance(1);
  assert.deepEqual(cluster.names(secretKind), ["bootstrap-token-forevr"]);
});

describe("controller: bootstrap signer", () => {
  const kubeconfig = "apiVersion: v1\nkind: Config\n";
  const data = (cluster: Cluster) =>
    cluster.get(configMapKind, "cluster-info", "kube-public")?.data;

  async function world(): Promise<Cluster> {
    const cluster = await startCluster({ at: AT, controllers: [bootstrapSigner(hmac)] });
    await cluster.seed(namespaceKind, { metadata: { name: "kube-public" } });
    await cluster.seed(configMapKind, {
      metadata: { name: "cluster-info", namespace: "kube-public" },
      data: { kubeconfig, "jws-kubeconfig-zzzzzz": "of a token that is gone" },
    });
    return cluster;
  }

  test("signs with every token, and takes away what is not signed by one", async () => {
    await using cluster = await world();
    assert.deepEqual(data(cluster), { kubeconfig });
    await cluster.seed(secretKind, token({ expiration: "2030-01-02T00:00:00Z" }));
    const header = Buffer.from('{"alg":"HS256","kid":"abcdef"}').toString("base64url");
    const payload = Buffer.from(kubeconfig).toString("base64url");
    assert.deepEqual(data(cluster), {
      kubeconfig,
      "jws-kubeconfig-abcdef": `${header}..${hmac("0123456789abcdef", `${header}.${payload}`)}`,
    });
    await cluster.advance(86_400_000);
    assert.deepEqual(data(cluster), { kubeconfig });
  });

  test("signs again when the description changes", async () => {
    await using cluster = await world();
    await cluster.seed(secretKind, token());
    const before = data(cluster)?.["jws-kubeconfig-abcdef"];
    await cluster.edit(
      configMapKind,
      "cluster-info",
      (map) => void (map.data = { ...map.data, kubeconfig: "other" }),
      "kube-public",
    );
    assert.notEqual(data(cluster)?.["jws-kubeconfig-abcdef"], before);
  });
});
