/** Conditions on questions of access, as they are put to webhooks: a SubjectAccessReview's spec is `request`. */

import { compile, extendEnvironment } from "#api/cel/environment.ts";
import { createProgram, type Evaluation } from "#api/cel/evaluate/program.ts";
import { BOOL, objectType } from "#api/cel/types/type.ts";
import { fromJson } from "#api/cel/values/json.ts";
import type {
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from "#api/generated/authorization.v1.ts";
import { lazy } from "#lib/lazy.ts";
import { plainName } from "./admission.ts";
import type { CompiledExpression } from "./authentication.ts";
import { baseEnvironment } from "./base-environment.ts";
import { fieldTypes, objectTypes } from "./object-types.ts";

export interface AccessCondition {
  readonly text: string;
  evaluate(spec: SubjectAccessReviewSpec): Evaluation;
}

export function compileAccessCondition(text: string): CompiledExpression<AccessCondition> {
  const compiled = compile(environment(), text);
  if (!compiled.ok) {
    const detail = `compilation failed: ${compiled.error}`;
    return { ok: false, fault: { type: "invalid", detail } };
  }
  const { type } = compiled.value;
  if (type !== BOOL) {
    const detail = `must evaluate to bool but got ${plainName(type)}`;
    return { ok: false, fault: { type: "invalid", detail } };
  }
  const program = createProgram(environment(), compiled.value);
  const evaluate = (spec: SubjectAccessReviewSpec): Evaluation => {
    const request = fromJson(completed(spec));
    return program.evaluate({ find: (name) => (name === "request" ? request : undefined) });
  };
  return { ok: true, value: { text, evaluate } };
}

const SELECTOR = fieldTypes({
  rawSelector: "string",
  requirements: "list(kubernetes.SelectorRequirement)",
});
const TYPES = new Map([
  [
    "kubernetes.SubjectAccessReviewSpec",
    fieldTypes({
      resourceAttributes: "kubernetes.ResourceAttributes",
      nonResourceAttributes: "kubernetes.NonResourceAttributes",
      user: "string",
      groups: "list(string)",
      extra: "map(string, list(string))",
      uid: "string",
    }),
  ],
  [
    "kubernetes.ResourceAttributes",
    fieldTypes({
      namespace: "string",
      verb: "string",
      group: "string",
      version: "string",
      resource: "string",
      subresource: "string",
      name: "string",
      fieldSelector: "kubernetes.FieldSelectorAttributes",
      labelSelector: "kubernetes.LabelSelectorAttributes",
    }),
  ],
  ["kubernetes.NonResourceAttributes", fieldTypes({ path: "string", verb: "string" })],
  ["kubernetes.FieldSelectorAttributes", SELECTOR],
  ["kubernetes.LabelSelectorAttributes", SELECTOR],
  [
    "kubernetes.SelectorRequirement",
    fieldTypes({ key: "string", operator: "string", values: "list(string)" }),
  ],
]);

const environment = lazy(() =>
  extendEnvironment(
    baseEnvironment(),
    { request: objectType("kubernetes.SubjectAccessReviewSpec") },
    objectTypes(TYPES),
  ),
);

/** Texts and lists that are empty are there all the same; attributes and selectors may be missing. */
function completed(spec: SubjectAccessReviewSpec): object {
  const { resourceAttributes, nonResourceAttributes } = spec;
  return {
    user: spec.user ?? "",
    groups: spec.groups ?? [],
    uid: spec.uid ?? "",
    extra: spec.extra ?? {},
    ...(resourceAttributes && { resourceAttributes: completedResource(resourceAttributes) }),
    ...(nonResourceAttributes && {
      nonResourceAttributes: { path: "", verb: "", ...nonResourceAttributes },
    }),
  };
}

function completedResource({ fieldSelector, labelSelector, ...rest }: ResourceAttributes): object {
  return {
    namespace: "",
    verb: "",
    group: "",
    version: "",
    resource: "",
    subresource: "",
    name: "",
    ...rest,
    ...(fieldSelector && { fieldSelector: completedSelector(fieldSelector) }),
    ...(labelSelector && { labelSelector: completedSelector(labelSelector) }),
  };
}

function completedSelector({
  requirements = [],
  ...rest
}: NonNullable<ResourceAttributes["fieldSelector" | "labelSelector"]>): object {
  if (requirements.length === 0) return rest;
  return { requirements: requirements.map((one) => ({ values: [], ...one })) };
}
