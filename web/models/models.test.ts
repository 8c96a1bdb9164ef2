import assert from "node:assert/strict";
import { load } from "js-yaml";
import { describe, test } from "vitest";
import { ageOf } from "./age.ts";
import { fieldOwners, ownersOf } from "./field-owners.ts";
import { paletteEntries } from "./palette-entries.ts";
import { plainText } from "./plain-text.ts";
import { objectLink, resourcesOf } from "./resources.ts";
import { routeOf } from "./route.ts";
import { yamlLines } from "./yaml-lines.ts";

const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);

describe("plainText of container logs", () => {
  const cases = [
    { name: "colour escapes are removed", text: `${ESC}[31mred${ESC}[0m`, want: "red" },
    {
      name: "escapes that set the title are removed",
      text: `${ESC}]0;title${BEL}after`,
      want: "after",
    },
    {
      name: "hyperlink escapes leave their text",
      text: `${ESC}]8;;http://x${ESC}\\link${ESC}]8;;${ESC}\\`,
      want: "link",
    },
    { name: "unfinished escapes lose the escape character", text: `a${ESC}[31`, want: "a31" },
    { name: "carriage returns and bells are removed", text: `10%\r20%${BEL}`, want: "10%20%" },
    {
      name: "characters that change the direction of text are removed",
      text: "a\u202eb",
      want: "ab",
    },
    { name: "tabs and other scripts stay", text: "a\tü漢🙂", want: "a\tü漢🙂" },
  ];
  for (const { name, text, want } of cases) test(name, () => assert.equal(plainText(text), want));
});

test("YAML lines: the text parses to the object, and every line knows its field", () => {
  const object = {
    kind: "X",
    spec: { list: [{ a: 1, b: [{ c: "x: y" }] }, "text"], empty: {}, none: [], when: "2030-01-01" },
    data: { script: "one\ntwo\n", "odd: key": "'", yes: "yes", nothing: null },
  };
  const lines = yamlLines(object);
  assert.deepEqual(load(lines.map(({ text }) => text).join("\n")), object);
  const line = lines.find(({ text }) => text.includes("x: y"));
  assert.deepEqual(line?.path, ["spec", "list", 0, "b", 0, "c"]);
});

test("field owners: managedFields name fields, items by key and values of sets", () => {
  const object = {
    metadata: {
      name: "x",
      finalizers: ["a", "b"],
      managedFields: [
        {
          manager: "kubectl",
          fieldsV1: {
            "f:metadata": { "f:finalizers": { ".": {}, 'v:"b"': {} } },
            "f:spec": { "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:image": {} } } },
          },
        },
        { manager: "kubelet", subresource: "status", fieldsV1: { "f:status": { "f:phase": {} } } },
      ],
    },
    spec: { containers: [{ name: "other" }, { name: "web", image: "i" }] },
    status: { phase: "Running" },
  };
  const owners = fieldOwners(object);
  assert.deepEqual(ownersOf(owners, ["spec", "containers", 1, "image"]), ["kubectl"]);
  assert.deepEqual(ownersOf(owners, ["spec", "containers", 0]), []);
  assert.deepEqual(ownersOf(owners, ["metadata", "finalizers", 1]), ["kubectl"]);
  assert.deepEqual(ownersOf(owners, ["status", "phase"]), ["kubelet (status)"]);
});

test("age: kubectl's words", () => {
  const nowMs = Date.parse("2030-06-01T00:00:00Z");
  const ago = (seconds: number) => ageOf(new Date(nowMs - seconds * 1000).toISOString(), nowMs);
  assert.deepEqual([5, 119, 200, 600, 7_200, 26_100, 90_000, 183_600, 3_456_000].map(ago), [
    "5s",
    "119s",
    "3m20s",
    "10m",
    "120m",
    "7h15m",
    "25h",
    "2d3h",
    "40d",
  ]);
  assert.equal(ageOf(undefined, nowMs), "<unknown>");
});

test("objectLink and routeOf: a link to an object leads back to it, whatever its name is", () => {
  const resource = { group: "", version: "v1", plural: "pods" };
  for (const name of ["web", "a/b", "../x", "100%", "<b>", "?q#h"]) {
    const link = objectLink(resource, "default", name);
    const want = { view: "object", group: "", plural: "pods", namespace: "default", name };
    assert.deepEqual(routeOf(link), want);
  }
});

test("dashboard palette: a short name comes first", () => {
  const kind = (resource: string, shortNames: string[]) => ({
    resource,
    responseKind: { kind: resource },
    scope: "Namespaced",
    verbs: ["list"],
    shortNames,
  });
  const resources = resourcesOf({
    items: [
      { versions: [{ version: "v1", resources: [kind("posts", []), kind("pods", ["po"])] }] },
    ],
  });
  const [first] = paletteEntries(resources, "blue", "po");
  assert.deepEqual([first?.title, first?.path], ["pods", "/list/core/pods?namespace=blue"]);
});
