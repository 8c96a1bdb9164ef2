/** admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy: refuses requests by expressions. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type {
  AuditAnnotation,
  ExpressionWarning,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyStatus,
  Validation,
} from "#api/generated/admissionregistration.v1.ts";
import { parseJsonPath } from "#api/json-path/parse.ts";
import { defineKind, type RuleContext } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { isQualifiedName, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  type PolicyExpressions,
  paramKindColumn,
  policyExpressions,
  validateConditionsAndVariables,
  validateExpression,
  validatePolicyHead,
} from "./policy-parts.ts";
import { defaultMatchResources } from "./rules.ts";
import { staticSuffixWarnings } from "./static-suffix.ts";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };
const AUDIT_ANNOTATIONS_MAX = 20;
const AUDIT_EXPRESSION_BYTES_MAX = 5 * 1024;
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

export const validatingAdmissionPolicyKind = defineKind<ValidatingAdmissionPolicy>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  names: {
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1.ValidatingAdmissionPolicy"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameIsDnsSubdomain,
  generation: true,
  defaults: ({ spec }) => {
    spec.failurePolicy ??= "Fail";
    defaultMatchResources(spec.matchConstraints);
  },
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: (policy, context) => validatePolicy(policy, undefined, context),
  *validateUpdate(policy, old, context) {
    const errors = validateObjectMeta(policy.metadata, META, METADATA);
    return [...errors, ...(yield* validatePolicy(policy, old, context))];
  },
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: ({ status }) => validateStatus(status),
    },
  },
  columns: [
    nameColumn,
    {
      name: "Validations",
      type: "integer",
      description:
        "Validations indicates the number of validation rules defined in this configuration",
      cell: ({ spec }) => (spec.validations ?? []).length,
    },
    paramKindColumn,
    ageColumn,
  ],
});

/** In steps: each expression is compiled. */
function* validatePolicy(
  { metadata, spec }: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
  context: RuleContext,
): Steps<FieldError[]> {
  const path = Path.of("spec");
  const expressions = policyExpressions(spec, context.expressions);
  const stored = storedExpressions(old);
  const errors = [
    ...validatePolicyHead(spec, path),
    ...(yield* validateConditionsAndVariables(spec, old?.spec, expressions, path)),
  ];
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length + auditAnnotations.length === 0) {
    const detail = "validations or auditAnnotations must contain at least one item";
    errors.push(required(path.child("validations"), detail));
    errors.push(required(path.child("auditAnnotations"), detail));
  }
  for (const [i, validation] of validations.entries()) {
    const at = path.child("validations").index(i);
    errors.push(...validateValidation(validation, stored, expressions, at));
    yield;
  }
  const auditPath = path.child("auditAnnotations");
  if (auditAnnotations.length > AUDIT_ANNOTATIONS_MAX) {
    const value = internalForm("[]admissionregistration.v1.AuditAnnotation", auditAnnotations);
    const detail = `must not have more than ${AUDIT_ANNOTATIONS_MAX} auditAnnotations`;
    errors.push(invalid(auditPath, value, detail));
  }
  const keys = new Set<string>();
  for (const [i, annotation] of auditAnnotations.entries()) {
    const at = auditPath.index(i);
    errors.push(
      ...validateAuditAnnotation(annotation, metadata.name ?? "", stored, expressions, at),
    );
    if (keys.has(annotation.key)) errors.push(duplicate(at.child("key"), annotation.key));
    keys.add(annotation.key);
  }
  return errors;
}

function storedExpressions(old: ValidatingAdmissionPolicy | undefined): ReadonlySet<string> {
  const { validations = [], auditAnnotations = [] } = old?.spec ?? {};
  return new Set([
    ...validations.flatMap((v) => [v.expression, v.messageExpression ?? ""]),
    ...auditAnnotations.map(({ valueExpression }) => valueExpression),
  ]);
}

function validateValidation(
  validation: Validation,
  stored: ReadonlySet<string>,
  expressions: PolicyExpressions,
  path: Path,
): FieldError[] {
  const { expression, message = "", messageExpression = "", reason } = validation;
  const errors: FieldError[] = [];
  const at = path.child("expression");
  if (expression.trim() === "") errors.push(required(at, "expression is not specified"));
  else {
    const use = { role: "validation", stored: stored.has(expression) } as const;
    errors.push(...validateExpression(expression, use, expressions, at));
  }
  if (messageExpression !== "") {
    const messagePath = path.child("messageExpression");
    if (messageExpression.trim() === "") {
      errors.push(invalid(messagePath, messageExpression, "must be non-empty if specified"));
    } else {
      const use = {
        role: "message",
        hasAuthorizer: false,
        stored: stored.has(messageExpression),
      } as const;
      errors.push(...validateExpression(messageExpression, use, expressions, messagePath));
    }
  }
  if (message !== "") {
    const trimmed = message.trim();
    if (trimmed === "") {
      errors.push(invalid(path.child("message"), message, "must be non-empty if specified"));
    } else if (/[\n\r]/.test(trimmed)) {
      errors.push(invalid(path.child("message"), message, "must not contain line breaks"));
    }
  }
  if (reason !== undefined) errors.push(...validateOneOf(path.child("reason"), reason, REASONS));
  return errors;
}

function validateAuditAnnotation(
  { key, valueExpression }: AuditAnnotation,
  policyName: string,
  stored: ReadonlySet<string>,
  expressions: PolicyExpressions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (policyName === "") {
    errors.push(invalid(path.child("key"), key, "requires metadata.name be non-empty"));
  } else {
    const qualified = `${policyName}/${key}`;
    errors.push(...invalidEach(path.child("key"), qualified, isQualifiedName(qualified)));
  }
  const at = path.child("valueExpression");
  const trimmed = valueExpression.trim();
  if (trimmed === "") return [...errors, required(at, "valueExpression is not specified")];
  if (utf8Length(trimmed) > AUDIT_EXPRESSION_BYTES_MAX) {
    const detail = `must not exceed ${AUDIT_EXPRESSION_BYTES_MAX} bytes in length`;
    return [...errors, required(at, detail)];
  }
  const use = { role: "auditAnnotation", stored: stored.has(valueExpression) } as const;
  return [...errors, ...validateExpression(valueExpression, use, expressions, at)];
}

function validateStatus({ typeChecking, conditions }: ValidatingAdmissionPolicyStatus) {
  const path = Path.of("status");
  const warnings = typeChecking?.expressionWarnings ?? [];
  const warningsPath = path.child("typeChecking", "expressionWarnings");
  return [
    ...warnings.flatMap((warning, i) => validateWarning(warning, warningsPath.index(i))),
    ...validateConditions(conditions ?? [], path.child("conditions")),
  ];
}

function validateWarning({ warning, fieldRef }: ExpressionWarning, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (warning === "") errors.push(required(path.child("warning"), ""));
  const at = path.child("fieldRef");
  const trimmed = fieldRef.trim();
  if (trimmed === "") return [...errors, required(at, "")];
  const parsed = parseJsonPath(`{${trimmed}}`);
  if (!parsed.ok) errors.push(invalid(at, trimmed, `invalid JSONPath: ${parsed.fault}`));
  return errors;
}
