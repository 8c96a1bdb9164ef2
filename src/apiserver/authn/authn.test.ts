import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { ApiRequest, Peer, PeerCertificate } from "../request/request.ts";
import type { Authentication } from "./authenticator.ts";
import { createBearerAuthenticator } from "./bearer.ts";
import { chainAuthenticators } from "./chain.ts";
import { createFrontProxyAuthenticator } from "./front-proxy.ts";
import { unionTokens } from "./token-authenticator.ts";
import { createTokenFileAuthenticator } from "./token-file.ts";
import { createX509Authenticator } from "./x509.ts";

const certificate: PeerCertificate = {
  commonName: "jane",
  organizations: ["dev", "ops"],
  notAfterMs: 1000,
  fingerprint: "abcd",
  frontProxy: false,
  client: true,
};

function request(headers: Record<string, string | string[]>, peer: Partial<Peer> = {}): ApiRequest {
  const entries = Object.entries(headers).map(([name, value]) => [name, [value].flat()] as const);
  return {
    method: "GET",
    path: "/",
    query: new URLSearchParams(),
    headers: Object.fromEntries(entries.map(([name, values]) => [name, values.join(", ")])),
    rawHeaders: entries.flatMap(([name, values]) => values.flatMap((value) => [name, value])),
    body: { form: "none" },
    peer: { address: "127.0.0.1", ...peer },
    signal: new AbortController().signal,
  };
}

const tokens = createTokenFileAuthenticator(
  'secret,alice,u1,"admins,dev"\nplain,bob,u2\n"quo""ted",eve,\n',
  "tokens.csv",
);
const proxy = {
  allowedNames: ["front-proxy-client"],
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: ["X-Remote-Uid"],
  groupHeaders: ["X-Remote-Group"],
  extraHeaderPrefixes: ["X-Remote-Extra-"],
};
const chain = (clock = new VirtualClock(0)) =>
  chainAuthenticators(
    [
      createFrontProxyAuthenticator(proxy),
      createX509Authenticator(clock),
      createBearerAuthenticator(unionTokens([tokens])),
    ],
    { enabled: true },
  );

const known = (user: object): unknown => ({ outcome: "known", user });
const frontProxy = {
  ...certificate,
  commonName: "front-proxy-client",
  frontProxy: true,
  client: false,
};

const cases: { name: string; request: ApiRequest; answer: unknown }[] = [
  {
    name: "no credentials at all are anonymous",
    request: request({}),
    answer: known({ name: "system:anonymous", groups: ["system:unauthenticated"] }),
  },
  {
    name: "a client certificate of a CA that signs front proxies too is a user",
    request: request({}, { certificate: { ...certificate, frontProxy: true } }),
    answer: known({
      name: certificate.commonName,
      groups: [...certificate.organizations, "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": [`X509SHA256=${certificate.fingerprint}`],
      },
    }),
  },
  {
    name: "a front proxy certificate of a CA that signs clients too names the user in X-Remote-User",
    request: request({ "x-remote-user": "bob" }, { certificate: { ...frontProxy, client: true } }),
    answer: known({ name: "bob", groups: ["system:authenticated"] }),
  },
  {
    name: "a client certificate without a common name",
    request: request({}, { certificate: { ...certificate, commonName: "" } }),
    answer: { outcome: "refused", reason: "the client certificate has no common name" },
  },
  {
    name: "a token of the file, with groups",
    request: request({ authorization: "Bearer secret" }),
    answer: known({ name: "alice", uid: "u1", groups: ["admins", "dev", "system:authenticated"] }),
  },
  {
    name: "a token without groups; the scheme is not case-sensitive",
    request: request({ authorization: "bEARER plain" }),
    answer: known({ name: "bob", uid: "u2", groups: ["system:authenticated"] }),
  },
  {
    name: "a bearer token may hold a quote",
    request: request({ authorization: 'Bearer quo"ted' }),
    answer: known({ name: "eve", groups: ["system:authenticated"] }),
  },
  {
    name: "a wrong token is refused, not anonymous",
    request: request({ authorization: "Bearer wrong" }),
    answer: { outcome: "refused", reason: "invalid bearer token" },
  },
  {
    name: "an Authorization header of another scheme makes the request anonymous",
    request: request({ authorization: "Basic abc" }),
    answer: known({ name: "system:anonymous", groups: ["system:unauthenticated"] }),
  },
  {
    name: "a token among a WebSocket's subprotocols",
    request: request({
      upgrade: "websocket",
      "sec-websocket-protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.cGxhaW4",
    }),
    answer: known({ name: "bob", uid: "u2", groups: ["system:authenticated"] }),
  },
  {
    name: "a WebSocket must speak something beside the token",
    request: request({
      upgrade: "websocket",
      "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.cGxhaW4",
    }),
    answer: { outcome: "refused", reason: "missing additional subprotocol" },
  },
  {
    name: "a client certificate gives user, groups and credential-id",
    request: request({}, { certificate }),
    answer: known({
      name: "jane",
      groups: ["dev", "ops", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": ["X509SHA256=abcd"] },
    }),
  },
  {
    name: "a certificate of another authority is refused",
    request: request({}, { certificateFault: "unknown authority" }),
    answer: { outcome: "refused", reason: "unknown authority" },
  },
  {
    name: "authentication by front proxy: X-Remote-User, groups and extra of a trusted proxy are taken",
    request: request(
      {
        "x-remote-user": "carl",
        "x-remote-group": ["a", "b,c"],
        "x-remote-extra-acme.io%2fscopes": "read",
      },
      { certificate: frontProxy },
    ),
    answer: known({
      name: "carl",
      groups: ["a", "b,c", "system:authenticated"],
      extra: { "acme.io/scopes": ["read"] },
    }),
  },
  {
    name: "front proxy: X-Remote-User without a proxy certificate is ignored",
    request: request({ "x-remote-user": "carl" }, { certificate }),
    answer: known({
      name: "jane",
      groups: ["dev", "ops", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": ["X509SHA256=abcd"] },
    }),
  },
  {
    name: "a front proxy certificate with another common name is refused",
    request: request(
      { "x-remote-user": "carl" },
      { certificate: { ...frontProxy, commonName: "x" } },
    ),
    answer: {
      outcome: "refused",
      reason:
        "[x509: subject with cn=x is not in the allowed list, x509: certificate signed by unknown authority]",
    },
  },
  {
    name: "a front-proxy certificate without X-Remote-User is refused (401), not anonymous",
    request: request({}, { certificate: frontProxy }),
    answer: { outcome: "refused", reason: "x509: certificate signed by unknown authority" },
  },
  {
    name: "a front-proxy certificate without X-Remote-User, with a valid bearer token",
    request: request({ authorization: "Bearer plain" }, { certificate: frontProxy }),
    answer: known({ name: "bob", uid: "u2", groups: ["system:authenticated"] }),
  },
  {
    name: "authentication of callers in the same process keeps their user",
    request: request({}, { user: { name: "system:kube-scheduler", groups: [] } }),
    answer: known({ name: "system:kube-scheduler", groups: [] }),
  },
];

for (const { name, request: asked, answer } of cases) {
  test(name, async () => assert.deepEqual(await chain().authenticate(asked), answer));
}

test("a certificate ends while its connection goes on", async () => {
  const clock = new VirtualClock(1001);
  const answer = await chain(clock).authenticate(request({}, { certificate }));
  assert.equal(answer.outcome, "refused");
});

test("one certificate gives one user, for caches that go by identity", async () => {
  const authenticator = chain();
  const ask = (): Authentication =>
    authenticator.authenticate(request({}, { certificate })) as Authentication;
  const [first, second] = [ask(), ask()];
  assert.ok(first.outcome === "known" && second.outcome === "known");
  assert.equal(first.user, second.user);
});

test("without anonymous access, a request without credentials gets 401", async () => {
  const answer = await chainAuthenticators([], { enabled: false }).authenticate(request({}));
  assert.equal(answer.outcome, "refused");
});

describe("token files", () => {
  test("token file: a line with too few columns stops the start", () => {
    assert.throws(
      () => createTokenFileAuthenticator("a,b\n", "f.csv"),
      /token file 'f.csv' must have at least 3 columns \(token, user name, user uid\), found 2/,
    );
  });
});
