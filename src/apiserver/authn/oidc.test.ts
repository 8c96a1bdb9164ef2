import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { publicJwk, signToken, verificationKey } from "./jwt.ts";
import { createOidcAuthenticator, type OidcOptions } from "./oidc.ts";

const ISSUER = "https://id.example";
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const jwk = publicJwk(verificationKey(createPublicKey(key)));
const NOW_SECONDS = 1_000_000;

function authenticator(changes: Partial<OidcOptions> = {}, fetched: string[] = []) {
  const documents: Record<string, unknown> = {
    [`${ISSUER}/.well-known/openid-configuration`]: { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` },
    [`${ISSUER}/keys`]: { keys: [jwk] },
  };
  return createOidcAuthenticator({
    issuerUrl: ISSUER,
    audiences: ["k8ts"],
    username: { claim: "sub", prefix: `${ISSUER}#` },
    signingAlgorithms: ["ES256"],
    requiredClaims: {},
    clock: new VirtualClock(NOW_SECONDS * 1000),
    fetchText: async (url) => {
      fetched.push(url);
      return JSON.stringify(documents[url]);
    },
    ...changes,
  });
}

const claims = { iss: ISSUER, aud: "k8ts", sub: "jane", exp: NOW_SECONDS + 60, groups: ["dev"] };
const user = (name: string, ...groups: string[]) => ({
  outcome: "known",
  user: { name, groups: [...groups, "system:authenticated"] },
});
const refused = (reason: string) => ({ outcome: "refused", reason });

const cases: { name: string; claims?: object; options?: Partial<OidcOptions>; want: unknown }[] = [
  { name: "the subject, with the issuer in front", want: user(`${ISSUER}#jane`) },
  {
    name: "groups",
    options: {
      username: { claim: "sub", prefix: "" },
      groups: { claim: "groups", prefix: "oidc:" },
    },
    want: user("jane", "oidc:dev"),
  },
  {
    name: "a verified address",
    claims: { email: "j@x", email_verified: true },
    options: { username: { claim: "email", prefix: "" } },
    want: user("j@x"),
  },
  {
    name: "not an unverified one",
    claims: { email: "j@x", email_verified: false },
    options: { username: { claim: "email", prefix: "" } },
    want: refused("oidc: email not verified"),
  },
  {
    name: "not for another client",
    claims: { aud: ["a", "b"] },
    want: refused('oidc: verify token: oidc: expected audience "k8ts" got ["a" "b"]'),
  },
  {
    name: "not after its time",
    claims: { exp: NOW_SECONDS - 1 },
    want: refused(
      "oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-12 13:46:39 +0000 UTC)",
    ),
  },
  {
    name: "not without a required claim",
    options: { requiredClaims: { team: "a" } },
    want: refused("oidc: required claim team not present in ID token"),
  },
  {
    name: "not before its time",
    claims: { nbf: NOW_SECONDS + 301 },
    want: refused(
      "oidc: verify token: oidc: current time 1970-01-12 13:46:40 +0000 UTC before the nbf (not before) time: 1970-01-12 13:51:41 +0000 UTC",
    ),
  },
  {
    name: "an issuer's clock may be ahead",
    claims: { nbf: NOW_SECONDS + 299 },
    want: user(`${ISSUER}#jane`),
  },
  {
    name: "not with groups that are none",
    claims: { groups: [1] },
    options: { groups: { claim: "groups", prefix: "" } },
    want: refused(
      'oidc: parse groups claim "groups": json: cannot unmarshal array into Go value of type string',
    ),
  },
  {
    name: "not with a required claim that is no text",
    claims: { team: 1 },
    options: { requiredClaims: { team: "1" } },
    want: refused(
      "oidc: parse claim team: json: cannot unmarshal number into Go value of type string",
    ),
  },
  { name: "not of another issuer", claims: { iss: "https://x" }, want: { outcome: "unknown" } },
  {
    name: "not with an algorithm that was not asked for",
    options: { signingAlgorithms: ["RS256"] },
    want: refused(
      'oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["RS256"] got "ES256"',
    ),
  },
  {
    name: "not while the issuer cannot be reached",
    options: { fetchText: () => Promise.reject(new Error("down")) },
    want: refused("oidc: authenticator not initialized"),
  },
];

for (const { name, claims: changes, options, want } of cases) {
  test(`createOidcAuthenticator: oidc: ${name}`, async () => {
    const token = signToken({ ...claims, ...changes }, key);
    assert.deepEqual(await authenticator(options).authenticateToken(token), want);
  });
}

describe("the issuer's keys", () => {
  test("are fetched once for many tokens, and again for a new key, but not all the time", async () => {
    const fetched: string[] = [];
    const clock = new VirtualClock(NOW_SECONDS * 1000);
    const tokens = authenticator({ clock }, fetched);
    const token = signToken(claims, key);
    await Promise.all([1, 2, 3].map(() => tokens.authenticateToken(token)));
    assert.equal(fetched.length, 2);
    await tokens.authenticateToken(token);
    assert.equal(fetched.length, 2);
    const unknownKey = signToken(claims, otherKey);
    assert.equal((await tokens.authenticateToken(unknownKey)).outcome, "refused");
    assert.equal(fetched.length, 2);
    await clock.advance(1_000);
    assert.equal((await tokens.authenticateToken(unknownKey)).outcome, "refused");
    assert.equal(fetched.length, 3); // where the keys are is known
  });
});
