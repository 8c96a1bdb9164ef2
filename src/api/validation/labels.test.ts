import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import {
  type LabelSelectorOptions,
  selectorHasInvalidLabelValue,
  validateLabelSelector,
} from "./labels.ts";
import { Path } from "./path.ts";

const rows: readonly {
  name: string;
  selector: LabelSelector | undefined;
  options?: LabelSelectorOptions;
  faults: [field: string, type: string][];
}[] = [
  { name: "an absent selector is accepted", selector: undefined, faults: [] },
  {
    name: "matchLabels with valid labels are accepted",
    selector: { matchLabels: { a: "b" } },
    faults: [],
  },
  {
    name: "a bad key and a bad value of matchLabels are refused",
    selector: { matchLabels: { "a b": "c!" } },
    faults: [
      ["s.matchLabels", "FieldValueInvalid"],
      ["s.matchLabels", "FieldValueInvalid"],
    ],
  },
  {
    name: "In wants values, Exists wants none",
    selector: {
      matchExpressions: [
        { key: "a", operator: "In" },
        { key: "a", operator: "Exists", values: ["b"] },
      ],
    },
    faults: [
      ["s.matchExpressions[0].values", "FieldValueRequired"],
      ["s.matchExpressions[1].values", "FieldValueForbidden"],
    ],
  },
  {
    name: "operator, key and value",
    selector: { matchExpressions: [{ key: "", operator: "Is", values: ["!"] }] },
    faults: [
      ["s.matchExpressions[0].operator", "FieldValueInvalid"],
      ["s.matchExpressions[0].key", "FieldValueInvalid"],
      ["s.matchExpressions[0].key", "FieldValueInvalid"],
      ["s.matchExpressions[0].values[0]", "FieldValueInvalid"],
    ],
  },
  {
    name: "what older versions stored is tolerated",
    selector: { matchExpressions: [{ key: "a", operator: "Is", values: ["!"] }] },
    options: { allowInvalidLabelValue: true, allowUnknownOperator: true },
    faults: [],
  },
];

describe("label selectors", () => {
  for (const { name, selector, options = {}, faults } of rows) {
    test(name, () => {
      const errors = validateLabelSelector(selector, options, Path.of("s"));
      assert.deepEqual(
        errors.map(({ field, type }) => [field, type]),
        faults,
      );
    });
  }

  test("a stored selector with invalid values allows them in updates", () => {
    const selector = (value: string) => ({
      matchExpressions: [{ key: "a", operator: "In", values: [value] }],
    });
    assert.equal(selectorHasInvalidLabelValue(selector("!")), true);
    assert.equal(selectorHasInvalidLabelValue(selector("a")), false);
  });
});
