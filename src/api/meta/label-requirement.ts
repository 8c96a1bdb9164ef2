/** One requirement of a label selector, checked; faults in the words that clients know. */
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { isLabelValue, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

export type LabelOperator = "in" | "notin" | "=" | "==" | "!=" | "gt" | "lt" | "exists" | "!";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** What is wrong with a selector. */
export class SelectorError extends Error {}

/** Checks key, number of values and each value, and says all that is wrong. */
export function requirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const at = Path.of("values");
  const errors = [
    ...keyErrors(key, Path.of("key")),
    ...countErrors(operator, values, at),
    ...values.flatMap((value, i) => {
      const faults = isLabelValue(value);
      return faults.length === 0 ? [] : [invalid(at.index(i).key(key), value, faults.join("; "))];
    }),
  ];
  if (errors.length > 0) throw new SelectorError(formatFieldErrors(errors));
  return { key, operator, values };
}

function keyErrors(key: string, path: Path): FieldError[] {
  const faults = isQualifiedName(key);
  return faults.length === 0 ? [] : [invalid(path, key, faults.join("; "))];
}

function countErrors(operator: LabelOperator, values: readonly string[], at: Path): FieldError[] {
  const shown = values.length === 0 ? undefined : values; // an empty list prints as null
  switch (operator) {
    case "in":
    case "notin":
      if (values.length > 0) return [];
      return [invalid(at, shown, "for 'in', 'notin' operators, values set can't be empty")];
    case "exists":
    case "!":
      if (values.length === 0) return [];
      return [invalid(at, shown, "values set must be empty for exists and does not exist")];
    case "gt":
    case "lt":
      return values.flatMap((value, i) =>
        parseInt64(value) !== undefined
          ? []
          : [invalid(at.index(i), value, "for 'Gt', 'Lt' operators, the value must be an integer")],
      );
    default:
      return [];
  }
}

export function parseInt64(text: string): bigint | undefined {
  if (!/^[-+]?[0-9]{1,30}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
