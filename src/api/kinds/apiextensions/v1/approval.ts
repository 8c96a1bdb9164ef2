/** Groups of the community's own domains (`*.k8s.io`, `*.kubernetes.io`) need an approval. */
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { parseGoUrl } from "#api/validation/go-url.ts";
import { Path } from "#api/validation/path.ts";
import type { Condition } from "./conditions.ts";

const APPROVAL_ANNOTATION = "api-approved.kubernetes.io";
const START = `protected groups must have approval annotation "${APPROVAL_ANNOTATION}"`;
const MORE = "see https://github.com/kubernetes/enhancements/pull/1111";
const INVALID = `${START} with either a URL or a reason starting with "unapproved", ${MORE}`;

type Approval = "missing" | "bypassed" | "approved" | "invalid";

function approvalOf({ metadata }: CustomResourceDefinition): Approval {
  const annotation = metadata.annotations?.[APPROVAL_ANNOTATION] ?? "";
  if (annotation === "") return "missing";
  if (annotation.startsWith("unapproved")) return "bypassed";
  const parsed = parseGoUrl(annotation);
  return parsed.ok && parsed.url.host !== "" && parsed.url.scheme !== "" ? "approved" : "invalid";
}

export function validateApproval(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (!isProtected(definition)) return [];
  const approval = approvalOf(definition);
  if (old !== undefined && approvalOf(old) === approval) return [];
  const path = Path.of("metadata", "annotations").key(APPROVAL_ANNOTATION);
  if (approval === "missing") return [required(path, `${START}, ${MORE}`)];
  if (approval !== "invalid") return [];
  const value = definition.metadata.annotations?.[APPROVAL_ANNOTATION];
  return [invalid(path, value, INVALID)];
}

/** Undefined for groups that need no approval. */
export function approvalCondition(definition: CustomResourceDefinition): Condition | undefined {
  if (!isProtected(definition)) return undefined;
  const annotation = definition.metadata.annotations?.[APPROVAL_ANNOTATION] ?? "";
  const type = "KubernetesAPIApprovalPolicyConformant";
  switch (approvalOf(definition)) {
    case "missing":
      return { type, status: "False", reason: "MissingAnnotation", message: `${START}, ${MORE}` };
    case "invalid":
      return { type, status: "False", reason: "InvalidAnnotation", message: INVALID };
    case "bypassed": {
      const message = `not approved: ${goQuote(annotation)}`;
      return { type, status: "False", reason: "UnapprovedAnnotation", message };
    }
    case "approved": {
      const message = `approved in ${annotation}`;
      return { type, status: "True", reason: "ApprovedAnnotation", message };
    }
  }
}

function isProtected({ spec }: CustomResourceDefinition): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(spec.group);
}
