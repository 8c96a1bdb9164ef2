import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { describe, test } from "vitest";
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { completed } from "#testing/build.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { issuerDocuments } from "./issuer-documents.ts";
import { decodeToken, signToken } from "./jwt.ts";
import { reviewToken } from "./reviews.ts";
import { createServiceAccountTokenAuthenticator } from "./service-account-tokens.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { createTokenIssuer, type IssueToken } from "./token-request.ts";

const ISSUER = "https://kubernetes.default.svc";
const START = "2030-01-01T00:00:00Z";
const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();
const KEY = pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
const OTHER_KEY = pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);

interface World {
  readonly objects: MemoryObjects;
  readonly clock: VirtualClock;
  readonly issue: IssueToken;
  readonly tokens: TokenAuthenticator;
}

function world(signingKeyPem = KEY): World {
  const objects = new MemoryObjects();
  const clock = new VirtualClock(START);
  objects.put(serviceAccountKind, { metadata: { name: "bot", namespace: "ns", uid: "sa-uid" } });
  const audiences = [ISSUER];
  return {
    objects,
    clock,
    issue: createTokenIssuer({
      signingKeyPem,
      issuer: ISSUER,
      audiences,
      expirationSecondsMax: 0,
      extendExpiration: true,
      objects,
      clock,
      random: seededRandom(1),
    }),
    tokens: createServiceAccountTokenAuthenticator({
      keys: [KEY],
      issuers: [ISSUER],
      audiences,
      objects,
      clock,
    }),
  };
}

function tokenRequest(spec: Partial<TokenRequest["spec"]> = {}): TokenRequest {
  return {
    metadata: {},
    spec: { audiences: null, expirationSeconds: 3600, boundObjectRef: null, ...spec },
    status: { token: "", expirationTimestamp: null },
  };
}

function issued({ issue }: World, spec: Partial<TokenRequest["spec"]> = {}): TokenRequest {
  const result = issue(tokenRequest(spec), "ns", "bot", () => undefined);
  assert.ok(result.ok);
  return result.value;
}

const pod = (changes: Partial<Pod["metadata"]> = {}): Pod =>
  completed(podKind, {
    metadata: { name: "p", namespace: "ns", uid: "pod-uid", ...changes },
    spec: { serviceAccountName: "bot", nodeName: "n1" },
  });

const toPod = { kind: "Pod", apiVersion: "v1", name: "p" };

describe("a token that was requested", () => {
  test("is its account's", async () => {
    const here = world();
    const answer = await here.tokens.authenticateToken(issued(here).status.token);
    assert.deepEqual(answer, {
      outcome: "known",
      audiences: [ISSUER],
      user: {
        name: "system:serviceaccount:ns:bot",
        uid: "sa-uid",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/credential-id": [
            "JTI=72f0fd39-6070-40a9-bf80-ed531e5ee7fc",
          ],
        },
      },
    });
  });

  test("says when it ends and whom it is for", () => {
    const { metadata, spec, status } = issued(world());
    assert.deepEqual(metadata, {
      name: "bot",
      namespace: "ns",
      uid: "sa-uid",
      creationTimestamp: START,
    });
    assert.deepEqual(spec, { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null });
    assert.equal(status.expirationTimestamp, "2030-01-01T01:00:00Z");
    const { exp, iat, sub } = decodeToken(status.token)!.claims;
    assert.deepEqual([exp, iat, sub], [1893459600, 1893456000, "system:serviceaccount:ns:bot"]);
  });

  test("a token that is bound to a pod names pod and node", async () => {
    const here = world();
    here.objects.put(podKind, pod());
    here.objects.put(nodeKind, { metadata: { name: "n1", uid: "node-uid" } } as never);
    const token = issued(here, { boundObjectRef: toPod }).status.token;
    const answer = await here.tokens.authenticateToken(token);
    assert.ok(answer.outcome === "known");
    const extra = { ...answer.user.extra };
    delete extra["authentication.kubernetes.io/credential-id"];
    assert.deepEqual(extra, {
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["pod-uid"],
      "authentication.kubernetes.io/node-name": ["n1"],
      "authentication.kubernetes.io/node-uid": ["node-uid"],
    });
  });

  test("of a pod that takes what the kubelet asks for lives a year, warning after an hour", () => {
    const here = world();
    here.objects.put(podKind, pod());
    const { status, spec } = issued(here, { boundObjectRef: toPod, expirationSeconds: 3607 });
    const claims = decodeToken(status.token)!.claims;
    assert.equal(claims.exp, 1893456000 + 365 * 86400);
    assert.equal((claims["kubernetes.io"] as { warnafter: number }).warnafter, 1893456000 + 3607);
    assert.equal(spec.expirationSeconds, 3607);
    assert.equal(status.expirationTimestamp, "2030-01-01T01:00:07Z");
  });
});

describe("a token is refused", () => {
  const gone = "service account token has been invalidated";
  const cases: {
    name: string;
    spec?: Partial<TokenRequest["spec"]>;
    event?: (world: World) => unknown;
    audiences?: string[];
    key?: string;
    reason: string;
  }[] = [
    {
      name: "after its time and a minute",
      event: ({ clock }) => clock.advance(3_661_000),
      reason: "service account token has expired",
    },
    {
      name: "when its account is gone",
      event: ({ objects }) => objects.delete(serviceAccountKind, "ns", "bot"),
      reason: 'serviceaccounts "bot" not found',
    },
    {
      name: "when its account was made again",
      event: ({ objects }) =>
        objects.put(serviceAccountKind, { metadata: { name: "bot", namespace: "ns", uid: "new" } }),
      reason: "service account UID (new) does not match claim (sa-uid)",
    },
    {
      name: "when its pod is gone",
      spec: { boundObjectRef: toPod },
      event: ({ objects }) => objects.delete(podKind, "ns", "p"),
      reason: gone,
    },
    {
      name: "when its pod was made again",
      spec: { boundObjectRef: toPod },
      event: ({ objects }) => objects.put(podKind, pod({ uid: "new" })),
      reason: "pod UID (new) does not match service account pod ref claim (pod-uid)",
    },
    {
      name: "a minute after its pod should have been gone",
      spec: { boundObjectRef: toPod },
      event: ({ objects }) =>
        objects.put(podKind, pod({ deletionTimestamp: "2029-12-31T23:58:59Z" })),
      reason: gone,
    },
    {
      name: "a token for another audience",
      audiences: ["other"],
      reason: `token audiences ["${ISSUER}"] is invalid for the target audiences ["other"]`,
    },
    {
      name: "with a key that is not ours",
      key: OTHER_KEY,
      reason: "invalid signature, no keys found",
    },
  ];
  for (const { name, spec, event, audiences, key, reason } of cases) {
    test(name, async () => {
      const here = world(key);
      here.objects.put(podKind, pod());
      const { token } = issued(here, spec).status;
      if (key === undefined && audiences === undefined) {
        const before = await here.tokens.authenticateToken(token);
        assert.equal(before.outcome, "known");
      }
      await event?.(here);
      const answer = await here.tokens.authenticateToken(token, audiences);
      assert.deepEqual(answer, { outcome: "refused", reason });
    });
  }

  test("when its payload was changed", async () => {
    const here = world();
    const [header, , signature] = issued(here).status.token.split(".");
    const claims = { iss: ISSUER, aud: [ISSUER], sub: "system:serviceaccount:kube-system:boss" };
    const forged = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    assert.equal((await here.tokens.authenticateToken(forged)).outcome, "refused");
    const unsigned = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${forged.split(".")[1]}.c2ln`;
    assert.equal((await here.tokens.authenticateToken(unsigned)).outcome, "refused");
  });

  test("tokens of other issuers are none of ours", async () => {
    const token = signToken({ iss: "https://elsewhere" }, createPrivateKey(KEY));
    assert.deepEqual(await world().tokens.authenticateToken(token), { outcome: "unknown" });
  });
});

describe("requests for tokens are refused", () => {
  const cases: {
    name: string;
    spec?: Partial<TokenRequest["spec"]>;
    account?: string;
    message: string;
  }[] = [
    {
      name: "too short a time",
      spec: { expirationSeconds: 10 },
      message:
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ' +
        "10: may not specify a duration less than 10 minutes",
    },
    {
      name: "a token of a missing service account",
      account: "x",
      message: 'serviceaccounts "x" not found',
    },
    {
      name: "a token bound to a missing pod",
      spec: { boundObjectRef: toPod },
      message: 'pods "p" not found',
    },
    {
      name: "a kind that tokens are not bound to",
      spec: { boundObjectRef: { kind: "Deployment", apiVersion: "apps/v1", name: "d" } },
      message: "cannot bind token to object of type apps/v1, Kind=Deployment",
    },
  ];
  for (const { name, spec, account = "bot", message } of cases) {
    test(name, () => {
      const result = world().issue(tokenRequest(spec), "ns", account, () => undefined);
      assert.ok(!result.ok);
      assert.equal(result.status.message, message);
    });
  }
});

describe("old tokens in Secrets", () => {
  const claims = {
    iss: "kubernetes/serviceaccount",
    sub: "system:serviceaccount:ns:bot",
    "kubernetes.io/serviceaccount/namespace": "ns",
    "kubernetes.io/serviceaccount/secret.name": "s",
    "kubernetes.io/serviceaccount/service-account.name": "bot",
    "kubernetes.io/serviceaccount/service-account.uid": "sa-uid",
  };
  const token = signToken(claims, createPrivateKey(KEY));
  const secret = (text: string) => ({
    metadata: { name: "s", namespace: "ns" },
    data: { token: Buffer.from(text).toString("base64") },
  });

  test("work while the Secret holds them", async () => {
    const { objects, tokens } = world();
    objects.put(secretKind, secret(token));
    const answer = await tokens.authenticateToken(token);
    assert.ok(answer.outcome === "known");
    assert.equal(answer.user.name, "system:serviceaccount:ns:bot");
    const labels = objects.get(secretKind, "ns", "s")?.metadata.labels;
    assert.deepEqual(labels, { "kubernetes.io/legacy-token-last-used": "2030-01-01" });
    objects.put(secretKind, secret("another"));
    const later = await tokens.authenticateToken(token);
    assert.deepEqual(later, { outcome: "refused", reason: "Token does not match server's copy" });
    await objects.delete(secretKind, "ns", "s");
    const last = await tokens.authenticateToken(token);
    assert.deepEqual(last, { outcome: "refused", reason: "Token has been invalidated" });
  });

  test("are annotated in audit, and auto-generated ones get a warning", async () => {
    const { objects, tokens } = world();
    objects.put(secretKind, secret(token));
    const notes = async () => {
      const answer = await tokens.authenticateToken(token);
      return answer.outcome === "known" ? answer.notes : undefined;
    };
    const annotation = { "authentication.k8s.io/legacy-token": "system:serviceaccount:ns:bot" };
    assert.deepEqual(await notes(), {
      annotations: { ...annotation, "authentication.k8s.io/legacy-token-manual-secret": "s" },
    });
    const account = objects.get(serviceAccountKind, "ns", "bot")!;
    objects.put(serviceAccountKind, { ...account, secrets: [{ name: "s" }] });
    assert.deepEqual(await notes(), {
      annotations: {
        ...annotation,
        "authentication.k8s.io/legacy-token-autogenerated-secret": "s",
      },
      warning:
        "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.",
    });
  });
});

test("TokenReview: the user of a valid token, or all errors of an invalid one", async () => {
  const here = world();
  const { token } = issued(here).status;
  const review = (spec: object) =>
    reviewToken({ metadata: {}, spec, status: { user: {} } }, here.tokens, [ISSUER]);
  const good = await review({ token });
  assert.ok(good.ok && good.value.status.authenticated === true);
  const other = await review({ token, audiences: ["other"] });
  assert.ok(other.ok);
  assert.deepEqual(other.value.status, {
    user: {},
    error: `[invalid bearer token, token audiences ["${ISSUER}"] is invalid for the target audiences ["other"]]`,
  });
  const bad = await review({ token: "bad" });
  assert.ok(bad.ok);
  assert.deepEqual(bad.value.status, { user: {}, error: "invalid bearer token" });
  const none = await review({});
  assert.ok(!none.ok);
  assert.equal(none.status.message, "token is required for TokenReview in authentication");
});

test("others can verify tokens with the published keys", () => {
  const documents = issuerDocuments(ISSUER, `${ISSUER}/openid/v1/jwks`, [KEY])!;
  const { keys } = JSON.parse(documents.keys);
  const token = decodeToken(issued(world()).status.token)!;
  assert.equal(keys[0].kid, token.header.kid);
  const key = { key: keys[0], format: "jwk" as const, dsaEncoding: "ieee-p1363" as const };
  assert.ok(verify("sha256", token.signed, key, token.signature));
  assert.deepEqual(JSON.parse(documents.configuration).id_token_signing_alg_values_supported, [
    "ES256",
  ]);
});
