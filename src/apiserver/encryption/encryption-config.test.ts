import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { kmsSocket, kmsTimeoutMs, readEncryptionConfig } from "./encryption-config.ts";

const KEY = Buffer.alloc(32, 1).toString("base64");

function configOf(resources: string, providers: string): string {
  return `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: ${resources}
    providers: ${providers}
`;
}

const aes = `[{aescbc: {keys: [{name: a, secret: ${KEY}}]}}, {identity: {}}]`;
const kms = (fields: string): string => `[{kms: {name: k, endpoint: "unix:///k.sock", ${fields}}}]`;

test("a configuration with all providers is read, KMS with its defaults", () => {
  const providers = `[{kms: {apiVersion: v2, name: k, endpoint: "unix:///run/k.sock"}},
      {secretbox: {keys: [{name: s, secret: ${KEY}}]}}, {aesgcm: {keys: [{name: g, secret: ${KEY}}]}},
      {aescbc: {keys: [{name: c, secret: ${KEY}}]}}, {identity: {}}]`;
  const { resources } = readEncryptionConfig(configOf("[secrets, '*.apps']", providers), false);
  assert.deepEqual(resources[0]?.resources, ["secrets", "*.apps"]);
  assert.deepEqual(
    resources[0]?.providers.map((one) => Object.keys(one)[0]),
    ["kms", "secretbox", "aesgcm", "aescbc", "identity"],
  );
  const config = resources[0]!.providers[0]!.kms!;
  assert.deepEqual([kmsTimeoutMs(config), kmsSocket(config)], [3_000, "/run/k.sock"]);
});

test("encryption at rest: an abstract socket is named as Go names it", () => {
  assert.equal(kmsSocket({ endpoint: "unix:///@kms" }), "@kms");
});

const refused: [name: string, text: string, says: RegExp][] = [
  [
    "no resources at all",
    "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n",
    /^Error: resources: Required value: at least one resources is required$/,
  ],
  [
    "a document of another kind",
    "apiVersion: v1\nkind: Pod\n",
    /no kind "Pod" is registered for version "v1"/,
  ],
  [
    "an unknown field",
    `${configOf("[secrets]", aes)}more: 1\n`,
    /strict decoding error: unknown field "more"/,
  ],
  [
    "an empty list of resources",
    configOf("[]", aes),
    /resources\[0\].resources: Required value: at least one resources\[0\].resources is required/,
  ],
  [
    "an empty list of providers",
    configOf("[secrets]", "[]"),
    /resources\[0\].providers: Required value: at least one resources\[0\].providers is required/,
  ],
  [
    "a provider of no kind",
    configOf("[secrets]", "[{}]"),
    /provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity/,
  ],
  [
    "two providers in one element",
    configOf("[secrets]", `[{identity: {}, aescbc: {keys: [{name: a, secret: ${KEY}}]}}]`),
    /more than one provider specified in a single element/,
  ],
  [
    "a provider without keys",
    configOf("[secrets]", "[{aescbc: {keys: []}}]"),
    /aescbc.keys: Required value: at least one keys is required/,
  ],
  [
    "a key without a name",
    configOf("[secrets]", `[{aesgcm: {keys: [{secret: ${KEY}}]}}]`),
    /keys\[0\].name: Required value: name is a mandatory field for a key/,
  ],
  [
    "a key that is no base64",
    configOf("[secrets]", "[{aesgcm: {keys: [{name: a, secret: s3cr3t!}]}}]"),
    /secret: Invalid value: "REDACTED": secrets must be base64 encoded/,
  ],
  [
    "a short AES key",
    configOf("[secrets]", "[{aesgcm: {keys: [{name: a, secret: AAAA}]}}]"),
    /secret is not of the expected length, got 3, expected one of \[16 24 32\]/,
  ],
  [
    "a short secretbox key",
    configOf("[secrets]", "[{secretbox: {keys: [{name: a, secret: AAAA}]}}]"),
    /got 3, expected one of \[32\]/,
  ],
  [
    "a lone star as resource",
    configOf("['*']", aes),
    /use '\*\.' to encrypt all the resources from core API group or \*\.\* to encrypt all resources/,
  ],
  [
    "a resource name with capital letters",
    configOf("[Secrets]", aes),
    /resource name should not contain capital letters/,
  ],
  [
    "resources without an API",
    configOf("[serviceipallocations]", aes),
    /resources which do not have REST API\/s cannot be encrypted/,
  ],
  [
    "events of their own group",
    configOf("[events.events.k8s.io]", aes),
    /Use 'events' instead in the config file/,
  ],
  [
    "a resource of all groups",
    configOf("['pods.*']", aes),
    /encrypting the same resource across groups is not supported/,
  ],
  [
    "a resource twice",
    configOf("[secrets, secrets]", aes),
    /the same resource cannot be specified multiple times/,
  ],
  [
    "overlapping resources such as secrets and *.",
    configOf("[secrets, '*.']", aes),
    /using overlapping resources such as 'secrets' and '\*\.'/,
  ],
  [
    "a KMS name with a colon",
    configOf("[secrets]", `[{kms: {apiVersion: v2, name: "a:b", endpoint: "unix:///k"}}]`),
    /invalid KMS provider name a:b, must not contain ':'/,
  ],
  [
    "a KMS provider over TCP",
    configOf("[secrets]", `[{kms: {apiVersion: v2, name: a, endpoint: "tcp://1.2.3.4"}}]`),
    /unsupported scheme "tcp" for KMS provider, only unix is supported/,
  ],
  [
    "a KMS timeout of zero",
    configOf("[secrets]", kms("apiVersion: v2, timeout: 0s")),
    /timeout: Invalid value: "0s": timeout should be a positive value/,
  ],
  [
    "a cache size of KMS v2",
    configOf("[secrets]", kms("apiVersion: v2, cachesize: 5")),
    /cachesize is not supported in v2/,
  ],
  ["KMS v3", configOf("[secrets]", kms("apiVersion: v3")), /only v1 and v2 are supported/],
];

describe("EncryptionConfiguration is refused", () => {
  test.each(refused)("%s", (_, text, says) => {
    assert.throws(() => readEncryptionConfig(text, false), says);
  });

  test("two KMS providers of one name", () => {
    const both = `${configOf("[secrets]", kms("apiVersion: v2"))}  - resources: [configmaps]\n    providers: ${kms("apiVersion: v2")}\n`;
    assert.throws(
      () => readEncryptionConfig(both, false),
      /duplicate KMS provider name k, names must be unique/,
    );
  });

  test("no message contains a secret", () => {
    const text = configOf(
      "[secrets]",
      `[{identity: {}, aescbc: {keys: [{name: a, secret: ${KEY}x}]}}]`,
    );
    assert.throws(
      () => readEncryptionConfig(text, false),
      (error: Error) => !error.message.includes(KEY.slice(0, 20)),
    );
  });
});
