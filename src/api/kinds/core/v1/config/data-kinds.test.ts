/** ConfigMaps, Secrets and ServiceAccounts. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Secret, ServiceAccount } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { serviceAccountKind } from "../service-account.ts";
import { configMapKind } from "./config-map.ts";
import { secretKind } from "./secret.ts";

const base64 = (text: string) => btoa(text);
const IMMUTABLE = "Forbidden: field is immutable when `immutable` is set";

describe("data-kinds: config maps", () => {
  const rows = [
    {
      name: "a key in both maps",
      write: { object: { data: { a: "x" }, binaryData: { a: "eA==" } } },
      faults: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    },
    {
      name: "a key that leaves the folder",
      write: { object: { data: { "..": "x" } } },
      faults: ["data[..]: Invalid value: \"..\": must not be '..'"],
    },
    {
      name: "too much data",
      write: { object: { data: { a: "é".repeat(512 * 1024) }, binaryData: { b: "eA==" } } },
      faults: ["[]: Too long: may not be more than 1048576 bytes"],
    },
    {
      name: "changes once immutable",
      write: {
        object: { data: { a: "y" }, binaryData: { b: "eA==" } },
        old: { immutable: true, data: { a: "x" } },
      },
      faults: [`immutable: ${IMMUTABLE}`, `data: ${IMMUTABLE}`, `binaryData: ${IMMUTABLE}`],
    },
    {
      name: "an empty map where there was none",
      write: { object: { immutable: true, data: {}, binaryData: {} }, old: { immutable: true } },
      faults: [`binaryData: ${IMMUTABLE}`], // data is never none
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(configMapKind, write).faults, faults));
  }
});

describe("secrets", () => {
  test("stringData wins over data and is not kept", () => {
    const { object } = runKind(secretKind, {
      object: { data: { a: base64("old"), b: base64("b") }, stringData: { a: "é" } },
    });
    const { type, data, stringData } = object as Secret;
    assert.deepEqual(
      { type, data, stringData },
      {
        type: "Opaque",
        data: { a: "w6k=", b: "Yg==" },
        stringData: undefined,
      },
    );
  });

  const typed = (type: string, data: Record<string, string> = {}) => ({ object: { type, data } });
  const rows = [
    {
      name: "a token without its account",
      write: typed("kubernetes.io/service-account-token"),
      faults: ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    },
    {
      name: "docker credentials that are missing",
      write: typed("kubernetes.io/dockercfg"),
      faults: ["data[.dockercfg]: Required value"],
    },
    {
      name: "docker credentials that are no object",
      write: typed("kubernetes.io/dockerconfigjson", { ".dockerconfigjson": base64("[]") }),
      faults: [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    },
    {
      name: "basic auth without either part",
      write: typed("kubernetes.io/basic-auth"),
      faults: ["data[username]: Required value", "data[password]: Required value"],
    },
    {
      name: "an empty ssh key",
      write: typed("kubernetes.io/ssh-auth", { "ssh-privatekey": "" }),
      faults: ["data[ssh-privatekey]: Required value"],
    },
    {
      name: "a key pair without its key",
      write: typed("kubernetes.io/tls", { "tls.crt": "" }),
      faults: ["data[tls.key]: Required value"],
    },
    {
      name: "another type",
      write: { ...typed("a/b"), old: { type: "a/c" } },
      faults: ['type: Invalid value: "a/b": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(secretKind, write).faults, faults));
  }
});

describe("service accounts", () => {
  test("keep only the names of secrets", () => {
    const { object } = runKind(serviceAccountKind, {
      object: { secrets: [{ name: "a", namespace: "b", uid: "c" }, {}] },
    });
    assert.deepEqual((object as ServiceAccount).secrets, [{ name: "a" }, {}]);
  });

  test("warn once about an annotation that is going away", () => {
    const object = {
      metadata: { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } },
    };
    assert.equal(runKind(serviceAccountKind, { object }).warnings.length, 1);
    assert.equal(runKind(serviceAccountKind, { object, old: object }).warnings.length, 0);
  });
});
