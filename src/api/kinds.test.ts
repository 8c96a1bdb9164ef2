/** What must hold for the registry of kinds as a whole. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { builtInKinds, findByKind } from "./kinds.ts";
import { schemaOf } from "./schema/from-facts.ts";

const nameOf = ({ apiVersion, names }: (typeof builtInKinds)[number]) =>
  `${apiVersion} ${names.kind}`;

describe("built-in kinds", () => {
  for (const key of ["kind", "plural", "list"] as const) {
    test(`no two of a version share their ${key}`, () => {
      const all = builtInKinds.map(({ apiVersion, names }) => `${apiVersion}/${names[key]}`);
      assert.deepEqual(
        all.filter((name, i) => all.indexOf(name) < i),
        [],
      );
    });
  }

  for (const kind of builtInKinds) {
    test(`${nameOf(kind)} has a type, and objects of it a place to be stored`, () => {
      const fields = schemaOf(kind.type).fields.map(({ name }) => name);
      assert.ok(fields.includes("metadata"), kind.type);
      const stored =
        kind.storedAs === undefined
          ? kind
          : findByKind(kind.storedAs.group, kind.storedAs.version, kind.names.kind);
      assert.equal(stored?.storedAs, undefined);
      assert.deepEqual(stored?.names, kind.names);
      assert.equal(stored?.scope, kind.scope);
      assert.deepEqual(
        Object.keys(stored?.subresources ?? {}).sort(),
        Object.keys(kind.subresources ?? {}).sort(),
      );
    });
  }
});
