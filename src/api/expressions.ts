/**
 * The seam to CEL. Kinds that hold expressions hand them to the compiler of their rule context; the
 * rules of the kinds themselves know nothing of the language. Without a compiler expressions are
 * taken on trust.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { Steps } from "#lib/async/steps.ts";
import {
  type FieldError,
  forbidden,
  internalError,
  invalid,
  required,
} from "./validation/field-error.ts";
import type { FieldErrors } from "./validation/field-errors.ts";
import type { Path } from "./validation/path.ts";

export interface ExpressionCompiler {
  /** An expression of an admission policy or webhook. */
  admission(expression: string, use: AdmissionUse): ExpressionFault | undefined;
  /** All rules of a custom resource's schema, which is structural and without other faults. */
  schema(schema: JSONSchemaProps, stored: StoredSchemaRules, path: Path): FieldErrors;
  /** Runs the rules of such a schema; undefined if it has none. */
  schemaRules?(schema: JSONSchemaProps): SchemaRuleValidator | undefined;
  /**
   * Runs the rules on a default in such a schema, as on an object that is created with it and on one that
   * has it already. Undefined if there are none. `isResource`: the value is a whole resource.
   */
  schemaDefaultRules?(
    schema: JSONSchemaProps,
    isResource: boolean,
  ): DefaultRuleValidator | undefined;
  /** A selector of devices. */
  device(expression: string, stored: boolean): readonly ExpressionFault[];
}

/** `old`: of an update. Rules that an unchanged value breaks are let pass. In steps: there may be many. */
export type SchemaRuleValidator = (
  object: object,
  old: object | undefined,
  path: Path,
) => Steps<FieldError[]>;

/** What the rules may cost in all, and what is left of it; negative if it was not enough. */
export type DefaultRuleValidator = (
  value: unknown,
  path: Path,
  budget: number,
) => { readonly errors: readonly FieldError[]; readonly budget: number };

/** What the rules of one object, or of all defaults of a schema, may cost. */
export const SCHEMA_RULES_COST_MAX = 10_000_000;

export interface AdmissionUse {
  readonly role:
    | "matchCondition"
    | "validation"
    | "message"
    | "auditAnnotation"
    | "variable"
    | "applyConfiguration"
    | "jsonPatch";
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** Declared before this expression, in order; it may read them as `variables.<name>`. */
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  /** The stored object has the same expression: what old versions let pass is let pass. */
  readonly stored: boolean;
}

/** What the stored definition has already: let pass even if new definitions could not have it. */
export interface StoredSchemaRules {
  readonly rules: ReadonlySet<string>;
  readonly messageExpressions: ReadonlySet<string>;
  /** The schema is unchanged, so that its rules may cost what they like. */
  readonly unchanged: boolean;
}

export interface ExpressionFault {
  readonly type: "required" | "invalid" | "internal" | "forbidden";
  readonly detail: string;
}

export function expressionError(
  path: Path,
  expression: string,
  fault: ExpressionFault | undefined,
): FieldError[] {
  switch (fault?.type) {
    case undefined:
      return [];
    case "required":
      return [required(path, fault.detail)];
    case "invalid":
      return [invalid(path, expression, fault.detail)];
    case "internal":
      return [internalError(path, fault.detail)];
    case "forbidden":
      return [forbidden(path, fault.detail)];
  }
}
