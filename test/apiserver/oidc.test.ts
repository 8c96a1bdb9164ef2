/** Tokens of an issuer that is reached over real HTTPS, by flags and by a configuration file. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { askHttps, type HttpsAnswer } from "./https-ask.ts";
import { type Issuer, newSigningKey, startIssuer } from "./oidc-issuer.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const directory = mkdtempSync(join(tmpdir(), "k8ts-test-oidc-"));
const rsa = newSigningKey("rsa", "RS256");
const ec = newSigningKey("ec", "ES256");
const stranger = newSigningKey("rsa", "RS256");
const later = newSigningKey("later", "ES256");
let issuer: Issuer;

beforeAll(async () => {
  issuer = await startIssuer(directory);
  issuer.keys = [rsa, ec];
});

afterAll(async () => {
  await issuer[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const nowSeconds = Math.floor(Date.now() / 1000);
const claims = { aud: "k8ts", sub: "jane", exp: nowSeconds + 600, iat: nowSeconds, jti: "j1" };

function whoAmI(server: TestServer, token: string): Promise<HttpsAnswer> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  return askHttps(server, { method: "POST", path, token, body: kind });
}

describe("--oidc-… flags", () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({
      flags: [
        ...["--oidc-issuer-url", issuer.url, "--oidc-client-id", "k8ts"],
        ...["--oidc-ca-file", issuer.caFile, "--oidc-signing-algs", "RS256,ES256"],
        ...["--oidc-username-prefix", "oidc:", "--oidc-groups-claim", "groups"],
        ...["--oidc-groups-prefix", "team-", "--oidc-required-claim", "realm=a,b"],
      ],
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const good = { ...claims, realm: "a,b", groups: ["x", "y"] };
  const jane = {
    username: "oidc:jane",
    groups: ["team-x", "team-y", "system:authenticated"],
    extra: { "authentication.kubernetes.io/credential-id": ["JTI=j1"] },
  };
  const cases = [
    { name: "RS256", key: rsa, change: {}, want: jane },
    { name: "ES256", key: ec, change: {}, want: jane },
    {
      name: "one group as a text, several audiences",
      key: ec,
      change: { groups: "x", aud: ["other", "k8ts"] },
      want: { ...jane, groups: ["team-x", "system:authenticated"] },
    },
    {
      name: "a token for another audience is refused with 401",
      key: rsa,
      change: { aud: "other" },
      want: undefined,
    },
    {
      name: "an expired token is refused with 401",
      key: rsa,
      change: { exp: nowSeconds - 1 },
      want: undefined,
    },
    {
      name: "a token without a required claim is refused with 401",
      key: rsa,
      change: { realm: "a" },
      want: undefined,
    },
    {
      name: "a token without a username claim is refused with 401",
      key: rsa,
      change: { sub: undefined },
      want: undefined,
    },
    {
      name: "a token with a foreign signature is refused with 401",
      key: stranger,
      change: {},
      want: undefined,
    },
  ];
  for (const { name, key, change, want } of cases) {
    test(name, async () => {
      const answer = await whoAmI(server, issuer.tokenOf(key, { ...good, ...change }));
      assert.equal(answer.code, want === undefined ? 401 : 201, answer.text);
      assert.deepEqual(answer.json.status.userInfo, want);
    });
  }

  test("groups that are kept elsewhere", async () => {
    const text = issuer.tokenOf(ec, { aud: "k8ts", exp: claims.exp, groups: ["far"] });
    issuer.documents.set("/groups", { bearer: "s3cret", text });
    const { groups: _, ...rest } = good;
    const token = issuer.tokenOf(rsa, {
      ...rest,
      _claim_names: { groups: "src1" },
      _claim_sources: {
        src1: { endpoint: new URL("/groups", issuer.url).href, access_token: "s3cret" },
      },
    });
    const { json } = await whoAmI(server, token);
    assert.deepEqual(json.status.userInfo.groups, ["team-far", "system:authenticated"]);
  });

  test("a new key of the issuer counts, a withdrawn one soon does not", async () => {
    const fresh = issuer.tokenOf(later, good);
    assert.equal((await whoAmI(server, fresh)).code, 401);
    issuer.keys = [later];
    await until(async () => (await whoAmI(server, fresh)).code === 201);
    const old = issuer.tokenOf(rsa, { ...good, jti: "unseen" });
    assert.equal((await whoAmI(server, old)).code, 401);
    issuer.keys = [rsa, ec];
  });
});

test("an issuer whose certificate is not trusted is not believed", async () => {
  await using server = await startTestServer({
    flags: ["--oidc-issuer-url", issuer.url, "--oidc-client-id", "k8ts"],
  });
  assert.equal((await whoAmI(server, issuer.tokenOf(rsa, claims))).code, 401);
});

describe("--authentication-config", () => {
  const file = join(directory, "authentication.json");
  const write = (config: object): string => {
    const head = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthenticationConfiguration",
    };
    writeFileSync(file, JSON.stringify({ ...head, ...config }));
    return file;
  };
  const entry = () => ({
    issuer: {
      url: issuer.url,
      audiences: ["a", "k8ts"],
      audienceMatchPolicy: "MatchAny",
      certificateAuthority: readFileSync(issuer.caFile, "utf8"),
    },
    claimMappings: {
      username: { claim: "email", prefix: "" },
      uid: { claim: "sub" },
    },
  });

  test("maps claims, and limits anonymous requests to paths", async () => {
    const anonymous = { enabled: true, conditions: [{ path: "/livez" }] };
    const config = write({ jwt: [entry()], anonymous });
    await using server = await startTestServer({ flags: ["--authentication-config", config] });
    const { json } = await whoAmI(server, issuer.tokenOf(ec, { ...claims, email: "j@x" }));
    assert.equal(json.status.userInfo.username, "j@x");
    assert.equal(json.status.userInfo.uid, "jane");
    const unverified = { ...claims, email: "j@x", email_verified: false };
    assert.equal((await whoAmI(server, issuer.tokenOf(ec, unverified))).code, 401);
    assert.equal((await askHttps(server, { path: "/livez" })).code, 200);
    assert.equal((await askHttps(server, { path: "/readyz" })).code, 401);
  });

  test("makes up names by expressions", async () => {
    const claimMappings = { username: { expression: "'x:' + claims.sub" } };
    const config = write({ jwt: [{ ...entry(), claimMappings }] });
    await using server = await startTestServer({ flags: ["--authentication-config", config] });
    const { json } = await whoAmI(server, issuer.tokenOf(ec, claims));
    assert.equal(json.status.userInfo.username, "x:jane");
  });

  const refusals: { name: string; config: () => object; flags?: string[]; why: RegExp }[] = [
    {
      name: "both ways at once",
      config: () => ({ jwt: [entry()] }),
      flags: ["--oidc-issuer-url", "https://x", "--oidc-client-id", "y"],
      why: /authentication-config file and oidc-\* flags are mutually exclusive/,
    },
    {
      name: "anonymous said twice",
      config: () => ({ anonymous: { enabled: true } }),
      flags: ["--anonymous-auth=false"],
      why: /--anonymous-auth flag cannot be set/,
    },
    {
      name: "an expression that is none",
      config: () => ({
        jwt: [{ ...entry(), claimMappings: { username: { expression: "claims.sub +" } } }],
      }),
      why: /jwt\[0\]\.claimMappings\.username\.expression: Invalid value: "claims.sub \+": compilation failed/,
    },
    {
      name: "plain HTTP, no prefix, the same issuer twice",
      config: () => {
        const bad = {
          issuer: { url: "http://x", audiences: ["a"] },
          claimMappings: { username: { claim: "sub" } },
        };
        return { jwt: [bad, bad] };
      },
      why: /URL scheme must be https.*prefix is required.*jwt\[1\]\.issuer\.url: Duplicate/s,
    },
  ];
  for (const { name, config, flags = [], why } of refusals) {
    test(`refuses ${name}`, async () => {
      const path = write(config());
      await assert.rejects(
        startTestServer({ flags: ["--authentication-config", path, ...flags] }),
        why,
      );
    });
  }
});

/** Tries until it is so; the server asks an issuer at most once a second. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 250; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("it never was so");
}
