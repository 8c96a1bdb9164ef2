import assert from "node:assert/strict";
import { test } from "vitest";
import { fieldsOf, follow, text } from "./protobuf-fields.testing.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";

const DOCUMENT = {
  swagger: "2.0",
  info: { title: "Kubernetes", version: "v1.36.4" },
  paths: {
    "/api/v1/pods": {
      get: {
        operationId: "listPods",
        parameters: [
          { in: "query", name: "watch", type: "boolean", uniqueItems: true },
          { $ref: "#/parameters/x" },
        ],
        responses: { "200": { description: "OK", schema: { $ref: "#/definitions/Pod" } } },
        "x-kubernetes-action": "list",
      },
    },
  },
  definitions: {
    Pod: {
      type: "object",
      required: ["spec"],
      properties: { ports: { type: "array", items: { $ref: "#/definitions/Port" } } },
      "x-kubernetes-group-version-kind": [{ group: "", kind: "Pod", version: "v1" }],
    },
  },
};

test("OpenAPI v2 in protobuf: everything stands where clients look for it", () => {
  const bytes = encodeOpenApiV2(DOCUMENT);
  assert.equal(text(follow(bytes, 1)), "2.0");
  assert.equal(text(follow(bytes, 2, 2)), "v1.36.4");
  assert.equal(text(follow(bytes, 8, 2, 1)), "/api/v1/pods");
  const list = follow(bytes, 8, 2, 2, 2);
  assert.equal(text(follow(list, 5)), "listPods");
  assert.equal(text(follow(list, 8, 1, 2, 3, 4)), "watch");
  assert.deepEqual(
    fieldsOf(follow(list, 8, 1, 2, 3)).map(([n]) => n),
    [2, 4, 6, 20],
  );
  assert.equal(text(follow(list, 9, 1, 1)), "200");
  assert.equal(text(follow(list, 9, 1, 2, 1, 2, 1, 1)), "#/definitions/Pod");
  assert.deepEqual(
    [text(follow(list, 13, 1)), text(follow(list, 13, 2, 2))],
    ["x-kubernetes-action", '"list"\n'],
  );
  const pod = follow(bytes, 9, 1, 2);
  assert.equal(text(follow(pod, 22, 1)), "object");
  assert.equal(text(follow(pod, 19)), "spec");
  assert.equal(text(follow(pod, 25, 1, 2, 23, 1, 1)), "#/definitions/Port");
  assert.equal(text(follow(pod, 31, 2, 2)), '[{"group":"","kind":"Pod","version":"v1"}]\n');
});
