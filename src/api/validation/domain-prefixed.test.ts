import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { validateDomainPrefixedPath } from "./domain-prefixed.ts";
import { formatFieldError } from "./format-field-error.ts";
import { Path } from "./path.ts";

describe("validateDomainPrefixedPath", () => {
  const FORM = 'must be a domain-prefixed path (such as "acme.io/foo")';
  const rows = [
    { text: "acme.io/foo/bar", faults: [] },
    { text: "", faults: ["Required value"] },
    { text: "foo", faults: [`Invalid value: "foo": ${FORM}`] },
    { text: "/foo", faults: [`Invalid value: "/foo": ${FORM}`] },
    { text: "acme.io/", faults: [`Invalid value: "acme.io/": ${FORM}`] },
    {
      text: "acme.io/a b",
      faults: [
        `Invalid value: "a b": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`,
      ],
    },
  ];
  for (const { text, faults } of rows) {
    test(JSON.stringify(text), () =>
      assert.deepEqual(
        validateDomainPrefixedPath(text, Path.of("f")).map(formatFieldError),
        faults,
      ),
    );
  }
});
