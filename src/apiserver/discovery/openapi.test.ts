import assert from "node:assert/strict";
import { test } from "vitest";
import { startTestApi } from "../api.testing.ts";
import { define, definition } from "../crd/definition.testing.ts";

const WIDGET = "com.example.v1.Widget";
const PATH = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}";

test("/openapi/v2 and /openapi/v3: every $ref leads to a definition, custom resources come and go", async () => {
  await using t = await startTestApi();
  const before = await t.want(200, "GET", "/openapi/v2");
  assert.equal(before.definitions[WIDGET], undefined);
  await define(t, definition());
  const v2 = await t.want(200, "GET", "/openapi/v2");
  check(v2, v2.definitions, "#/definitions/");
  assert.ok(v2.definitions[WIDGET] !== undefined && v2.paths[PATH] !== undefined);
  assert.deepEqual(Object.keys(v2), [
    ...["swagger", "info", "paths", "definitions", "securityDefinitions", "security"],
  ]);
  for (const path of ["api/v1", "apis/apps/v1", "apis/example.com/v1", "version"]) {
    const v3 = await t.want(200, "GET", `/openapi/v3/${path}`);
    const { schemas = {}, securitySchemes } = v3.components;
    check(v3, schemas, "#/components/schemas/");
    assert.deepEqual(Object.keys(securitySchemes), ["BearerToken"]);
  }
  const { components, paths } = await t.want(200, "GET", "/openapi/v3/apis/example.com/v1");
  assert.ok(components.schemas[WIDGET] !== undefined && paths[PATH] !== undefined);
});

function check(document: { paths: object }, definitions: object, prefix: string): void {
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g);
  for (const [, reference = ""] of references) {
    assert.ok(reference.startsWith(prefix), reference);
    assert.ok(Object.hasOwn(definitions, reference.slice(prefix.length)), reference);
  }
}
