import assert from "node:assert/strict";
import { test } from "vitest";
import { fieldsOf, follow, text } from "./protobuf-fields.testing.ts";
import { encodeOpenApiV3 } from "./v3-protobuf.ts";

const POD = { $ref: "#/components/schemas/Pod" };

const DOCUMENT = {
  openapi: "3.0.0",
  info: { title: "Kubernetes", version: "1.36" },
  paths: {
    "/api/v1/pods": {
      post: {
        tags: ["core_v1"],
        operationId: "createPod",
        parameters: [{ name: "dryRun", in: "query", schema: { type: "string" } }],
        requestBody: { content: { "*/*": { schema: POD } }, required: true },
        responses: {
          "200": { description: "OK", content: { "application/json": { schema: POD } } },
        },
        "x-kubernetes-action": "post",
      },
    },
  },
  components: {
    schemas: {
      Pod: {
        type: "object",
        properties: {
          spec: { default: {}, allOf: [POD] },
          count: { type: "integer", default: 0 },
          ports: { type: "array", items: POD },
          labels: { type: "object", additionalProperties: { type: "string", default: "a" } },
        },
        "x-kubernetes-group-version-kind": [{ group: "", kind: "Pod", version: "v1" }],
      },
    },
    securitySchemes: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
  },
};

test("OpenAPI v3 in protobuf: everything stands where clients look for it", () => {
  const bytes = encodeOpenApiV3(DOCUMENT);
  assert.equal(text(follow(bytes, 1)), "3.0.0");
  assert.equal(text(follow(bytes, 2, 6)), "1.36");
  assert.equal(text(follow(bytes, 4, 1, 1)), "/api/v1/pods");
  const post = follow(bytes, 4, 1, 2, 6);
  assert.equal(text(follow(post, 1)), "core_v1");
  assert.equal(text(follow(post, 5)), "createPod");
  assert.equal(text(follow(post, 6, 1, 10, 1, 25)), "string");
  assert.equal(text(follow(post, 7, 1, 2, 1, 1)), "*/*");
  assert.equal(text(follow(post, 7, 1, 2, 1, 2, 1, 2, 1)), POD.$ref);
  assert.deepEqual(fieldsOf(follow(post, 7, 1)).at(-1), [3, 1]);
  assert.equal(text(follow(post, 8, 2, 1)), "200");
  assert.equal(text(follow(post, 8, 2, 2, 1, 3, 1, 2, 1, 2, 1)), POD.$ref);
  assert.equal(text(follow(post, 13, 2, 2)), '"post"\n');

  const pod = follow(bytes, 5, 1, 1, 2, 1);
  assert.equal(text(follow(pod, 25)), "object");
  assert.equal(text(follow(pod, 36, 1)), "x-kubernetes-group-version-kind");
  const properties = new Map(
    fieldsOf(follow(pod, 31)).map(([, one]) => {
      assert.ok(one instanceof Uint8Array);
      return [text(follow(one, 1)), follow(one, 2, 1)] as const;
    }),
  );
  const property = (name: string): Uint8Array => properties.get(name)!;
  assert.equal(text(follow(property("spec"), 26, 2, 1)), POD.$ref);
  assert.equal(follow(property("spec"), 33).length, 0); // an empty message: object defaults have no encoding
  assert.deepEqual([...follow(property("count"), 33, 1)], [0, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(text(follow(property("ports"), 30, 1, 2, 1)), POD.$ref);
  assert.equal(text(follow(property("labels"), 32, 1, 1, 33, 3)), "a");
  assert.equal(text(follow(bytes, 5, 7, 1, 2, 1, 3)), "authorization");
});
