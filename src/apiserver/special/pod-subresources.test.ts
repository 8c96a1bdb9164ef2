import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi } from "../api.testing.ts";

const PODS = "/api/v1/namespaces/default/pods";
const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "i" }] },
};
type Fields = Record<string, unknown>;
const binding = (metadata: Fields = {}) => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name: "p", ...metadata },
  target: { kind: "Node", name: "n" },
});
const eviction = (deleteOptions: Fields = {}, fields: Fields = {}) => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name: "p" },
  deleteOptions,
  ...fields,
});

const rows: readonly { name: string; path: string; body: Fields; code: number; message: RegExp }[] =
  [
    {
      name: "binds no other pod of the same name",
      path: `${PODS}/p/binding`,
      body: binding({ uid: "x" }),
      code: 409,
      message:
        /: StorageError: invalid object, Code: 4, Key: \/pods\/default\/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: /,
    },
    {
      name: "binds what is named",
      path: "/api/v1/namespaces/default/bindings",
      body: binding({ name: "" }),
      code: 400,
      message: /^Name parameter required\.$/,
    },
    {
      name: "evicts no other pod of the same name",
      path: `${PODS}/p/eviction`,
      body: eviction({ preconditions: { uid: "x" } }),
      code: 409,
      message: /"p": the UID in the precondition \(x\) does not match the UID in record/,
    },
    {
      name: "evicts as deletes do",
      path: `${PODS}/p/eviction`,
      body: eviction({ propagationPolicy: "Nope" }),
      code: 422,
      message: /^DeleteOptions\.meta\.k8s\.io "" is invalid: propagationPolicy: Unsupported value/,
    },
    {
      name: "runs dry or does not, but not both",
      path: `${PODS}/p/eviction`,
      body: eviction({ dryRun: ["Some"] }),
      code: 500,
      message: /^Non-matching dry-run options in request and content: \[All\] and \[Some\]$/,
    },
  ];

describe("subresources of pods", () => {
  for (const { name, path, body, code, message } of rows) {
    test(name, async () => {
      await using t = await startTestApi();
      await t.want(201, "POST", PODS, { body: POD });
      const refused = await t.want(code, "POST", `${path}?dryRun=All`, { body });
      assert.match(refused.message, message);
    });
  }

  test("older clients evict in an older version, and bind with a uid of their own", async () => {
    await using t = await startTestApi();
    await t.want(201, "POST", PODS, { body: POD });
    const old = eviction({}, { apiVersion: "policy/v1beta1" });
    await t.want(201, "POST", `${PODS}/p/eviction?dryRun=All`, { body: old });
    await t.want(201, "POST", "/api/v1/namespaces/default/bindings?dryRun=All", {
      body: binding({ uid: "x" }),
    });
  });
});

describe("API server: scales", () => {
  const SETS = "/apis/apps/v1/namespaces/default/replicasets";
  const labels = { app: "x" };
  const set = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "r" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: POD.spec } },
  };
  const refusals: readonly [name: string, metadata: Fields, code: number, message: RegExp][] = [
    ["another namespace", { namespace: "other" }, 400, /^the namespace of the provided object/],
    ["another object", { uid: "x" }, 409, /Key: \/replicasets\/default\/r, .*precondition: x,/],
    [
      "finalizers that are none",
      { finalizers: ["x"] },
      422,
      /^Scale\.autoscaling "r" is invalid: metadata\.finalizers\[0\]: Invalid value: "x"/,
    ],
  ];
  for (const [name, metadata, code, message] of refusals) {
    test(`refuse ${name}`, async () => {
      await using t = await startTestApi();
      await t.want(201, "POST", SETS, { body: set });
      const scale = await t.want(200, "GET", `${SETS}/r/scale`);
      const body = { ...scale, metadata: { ...scale.metadata, ...metadata } };
      const refused = await t.want(code, "PUT", `${SETS}/r/scale?dryRun=All`, { body });
      assert.match(refused.message, message);
    });
  }
});
