import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type AuthenticationConfig, readAuthenticationConfig } from "./authentication-config.ts";
import { userOfClaims } from "./claims-user.ts";

const issuer = { url: "https://id.example", audiences: ["k8ts"] };
const mappings = { username: { claim: "sub", prefix: "" } };
const config = (entry: object, rest: object = {}): object => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthenticationConfiguration",
  jwt: [{ issuer, claimMappings: mappings, ...entry }],
  ...rest,
});
const read = (document: object, before?: AuthenticationConfig): AuthenticationConfig =>
  readAuthenticationConfig({
    text: JSON.stringify(document),
    file: "f",
    ownIssuers: ["https://own.example"],
    ...(before && { before }),
  });

const claims = {
  sub: "jane",
  n: 5,
  list: ["a", "b", ""],
  "example.com/x": { "a.b": "deep" },
  nothing: null,
};

describe("claimMappings with CEL expressions", () => {
  const groups = (expression: string): object => ({
    claimMappings: { ...mappings, groups: { expression } },
  });
  const extra = (valueExpression: string): object => ({
    claimMappings: { ...mappings, extra: [{ key: "example.com/a", valueExpression }] },
  });
  const known = (rest: object): object => ({
    name: "jane",
    groups: ["system:authenticated"],
    ...rest,
  });
  const rows: { name: string; entry: object; want: unknown }[] = [
    {
      name: "a username expression makes the name",
      entry: { claimMappings: { username: { expression: "'x:' + claims.sub" } } },
      want: known({ name: "x:jane" }),
    },
    {
      name: "escaped names, at any depth, and numbers as doubles",
      entry: {
        claimMappings: {
          username: {
            expression: "claims.example__dot__com__slash__x.a__dot__b + string(claims.n / 2.0)",
          },
        },
      },
      want: known({ name: "deep2.5" }),
    },
    {
      name: "an empty username is refused",
      entry: { claimMappings: { username: { expression: "claims.?nope.orValue('')" } } },
      want: "oidc: empty username via CEL expression is not allowed",
    },
    {
      name: "a username that is no string is refused",
      entry: { claimMappings: { username: { expression: "claims.n" } } },
      want: "oidc: error evaluating username claim expression: username claim expression must return a string",
    },
    {
      name: "a claim that is not there",
      entry: { claimMappings: { username: { expression: "claims.nope" } } },
      want: "oidc: error evaluating username claim expression: expression 'claims.nope' resulted in error: no such key: nope",
    },
    {
      name: "groups, without the empty ones",
      entry: groups("claims.list + ['c']"),
      want: known({ groups: ["a", "b", "c", "system:authenticated"] }),
    },
    {
      name: "a groups expression of null gives no groups",
      entry: groups("claims.nothing"),
      want: known({}),
    },
    {
      name: "a groups expression of a number is refused",
      entry: groups("claims.n"),
      want: "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
    },
    {
      name: "a uid expression makes the uid",
      entry: { claimMappings: { ...mappings, uid: { expression: "claims.list[0]" } } },
      want: known({ uid: "a" }),
    },
    {
      name: "an extra expression makes extra values",
      entry: extra("claims.list"),
      want: known({ extra: { "example.com/a": ["a", "b"] } }),
    },
    {
      name: "an empty extra expression gives no extra values",
      entry: extra("''"),
      want: known({}),
    },
    {
      name: "claims that do not fit",
      entry: { claimValidationRules: [{ expression: "claims.n < 3", message: "too many" }] },
      want: "oidc: error evaluating claim validation expression: validation expression 'claims.n < 3' failed: too many",
    },
    {
      name: "a user that does not fit",
      entry: {
        claimMappings: { ...mappings, groups: { claim: "list", prefix: "p:" } },
        userValidationRules: [
          { expression: "user.groups.exists(g, g == 'p:a')" },
          { expression: "!user.username.startsWith('j')", message: "reserved" },
        ],
      },
      want: "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('j')' failed: reserved",
    },
  ];
  test.each(rows)("$name", ({ entry, want }) => {
    assert.deepEqual(userOfClaims(claims, read(config(entry)).issuers[0]!), want);
  });
});

describe("readAuthenticationConfig: what is wrong is named", () => {
  const rows: [name: string, document: object, says: RegExp][] = [
    [
      "a document of another kind is refused",
      { apiVersion: "v1", kind: "Pod" },
      /from file "f": no kind "Pod" is registered/,
    ],
    [
      "an unknown field",
      config({ foo: 1 }),
      /strict decoding error: unknown field "jwt\[0\]\.foo"/,
    ],
    [
      "a bad expression",
      config({ claimMappings: { username: { expression: "claims.sub +" } } }),
      /^Error: invalid authentication configuration: jwt\[0\]\.claimMappings\.username\.expression: Invalid value: "claims.sub \+": compilation failed: ERROR: <input>:1:13: Syntax error/,
    ],
    [
      "a rule that is no condition",
      config({ claimValidationRules: [{ expression: "claims.x" }] }),
      /claimValidationRules\[0\]\.expression: Invalid value: "claims.x": must evaluate to bool$/,
    ],
    [
      "a field that users do not have",
      config({ userValidationRules: [{ expression: "user.foo == ''" }] }),
      /userValidationRules\[0\]\.expression: .*undefined field 'foo'/,
    ],
    [
      "an e-mail address without email_verified",
      config({ claimMappings: { username: { expression: "claims.?email.orValue('')" } } }),
      /claims\.email_verified must be used in claimMappings\.username\.expression or/,
    ],
    [
      "a reserved key",
      config({
        claimMappings: { ...mappings, extra: [{ key: "x.k8s.io/a", valueExpression: "''" }] },
      }),
      /extra\[0\]\.key: Invalid value: "x.k8s.io\/a": k8s\.io, kubernetes\.io and their subdomains/,
    ],
    [
      "a claim and an expression",
      config({ claimMappings: { username: { claim: "sub", expression: "claims.sub" } } }),
      /claimMappings\.username: Invalid value: "": claim and expression can't both be set/,
    ],
    [
      "the server's own issuer",
      config({ issuer: { ...issuer, url: "https://own.example" } }),
      /URL must not overlap with disallowed issuers/,
    ],
    [
      "several audiences without a policy",
      config({ issuer: { ...issuer, audiences: ["a", "b"] } }),
      /audienceMatchPolicy must be MatchAny for multiple audiences/,
    ],
    [
      "anonymous conditions without enabled",
      config({}, { anonymous: { enabled: false, conditions: [{ path: "/x" }] } }),
      /anonymous\.conditions: Invalid value: \[\{"Path":"\/x"\}\]: enabled should be set to true/,
    ],
  ];
  test.each(rows)("%s", (_, document, says) => {
    assert.throws(() => read(document), says);
  });
});

test("email claims need email_verified in an expression", () => {
  const rules = [{ expression: "claims.email_verified == true" }];
  const username = { expression: "claims.email" };
  const mapped = { claimMappings: { username } };
  assert.throws(() => read(config(mapped)), /claims\.email_verified/);
  assert.doesNotThrow(() => read(config({ ...mapped, claimValidationRules: rules })));
});

test("the anonymous section cannot change while the server runs", () => {
  const anonymous = { enabled: true, conditions: [{ path: "/livez" }] };
  const before = read(config({}, { anonymous }));
  assert.deepEqual(before.anonymous, { enabled: true, paths: ["/livez"] });
  assert.deepEqual(read(config({}, { anonymous }), before), before);
  assert.throws(() => read(config({}), before), /anonymous: Forbidden: changed from initial/);
});
