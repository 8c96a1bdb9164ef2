/** Converts the spec of an access review to authorization attributes. */

import type {
  ResourceAttributes,
  SubjectAccessReviewSpec,
} from "#api/generated/authorization.v1.ts";
import type { FieldSelectorRequirement, LabelSelectorRequirement } from "#api/generated/meta.v1.ts";
import { type FieldRequirement, parseFieldSelector } from "#api/meta/field-selector.ts";
import type { LabelOperator, LabelRequirement } from "#api/meta/label-requirement.ts";
import { parseSelector } from "#api/meta/label-selector.ts";
import type { User } from "../request/request.ts";
import type { AccessAttributes } from "./authorizer.ts";

export interface ReviewQuestion {
  readonly attributes: AccessAttributes;
  /** Parts of the question that were left out because they could not be read. */
  readonly faults: readonly string[];
}

/** A selector as far as it could be read: leaving requirements out only asks for more. */
interface ReadSelector<Requirement> {
  readonly requirements: readonly Requirement[];
  readonly faulty: boolean;
}

export function reviewQuestion(
  spec: Pick<SubjectAccessReviewSpec, "resourceAttributes" | "nonResourceAttributes">,
  user: User,
): ReviewQuestion {
  const { resourceAttributes: wanted, nonResourceAttributes: url } = spec;
  const question = {
    user,
    isResource: wanted !== undefined,
    verb: wanted?.verb ?? url?.verb ?? "",
    path: url?.path ?? "",
    group: wanted?.group ?? "",
    version: wanted?.version || "*",
    resource: wanted?.resource ?? "",
    subresource: wanted?.subresource ?? "",
    namespace: wanted?.namespace ?? "",
    name: wanted?.name ?? "",
  };
  if (wanted === undefined) return { attributes: question, faults: [] };

  const fields = readFields(wanted.fieldSelector);
  const labels = readLabels(wanted.labelSelector);
  return {
    attributes: {
      ...question,
      ...(fields.requirements.length > 0 ? { fieldSelector: fields.requirements } : {}),
      ...(labels.requirements.length > 0 ? { labelSelector: labels.requirements } : {}),
    },
    faults: [...ignored("fieldSelector", fields), ...ignored("labelSelector", labels)],
  };
}

function ignored(name: string, { requirements, faulty }: ReadSelector<unknown>): string[] {
  if (!faulty) return [];
  const partly = requirements.length > 0 ? "partially " : "";
  return [`spec.resourceAttributes.${name} ${partly}ignored due to parse error`];
}

function readFields(selector: ResourceAttributes["fieldSelector"]): ReadSelector<FieldRequirement> {
  if (selector?.requirements?.length) {
    const requirements = selector.requirements.flatMap(fieldRequirement);
    return { requirements, faulty: requirements.length < selector.requirements.length };
  }
  const parsed = parseFieldSelector(selector?.rawSelector ?? "");
  return parsed.ok ? { requirements: parsed.value, faulty: false } : UNREADABLE;
}

function readLabels(selector: ResourceAttributes["labelSelector"]): ReadSelector<LabelRequirement> {
  if (selector?.requirements?.length) {
    const requirements = selector.requirements.flatMap(labelRequirement);
    return { requirements, faulty: requirements.length < selector.requirements.length };
  }
  const parsed = parseSelector(selector?.rawSelector ?? "");
  if (!parsed.ok) return UNREADABLE;
  return { requirements: parsed.value === "nothing" ? [] : parsed.value, faulty: false };
}

const UNREADABLE: ReadSelector<never> = { requirements: [], faulty: true };

function fieldRequirement(requirement: FieldSelectorRequirement): FieldRequirement[] {
  const { key: field, operator, values = [] } = requirement;
  if (values.length !== 1) return [];
  if (operator === "In") return [{ field, operator: "=", value: values[0]! }];
  return operator === "NotIn" ? [{ field, operator: "!=", value: values[0]! }] : [];
}

const LABEL_OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

function labelRequirement(requirement: LabelSelectorRequirement): LabelRequirement[] {
  const operator = LABEL_OPERATORS[requirement.operator];
  return operator === undefined
    ? []
    : [{ key: requirement.key, operator, values: requirement.values ?? [] }];
}
