/** What both kinds of flow control do with their status: only its own subresource writes it. */
import { keepAllMetadata, keepFields } from "#api/draft.ts";
import type { KindSpec, KubeObject } from "#api/kind.ts";
import { duplicate, type FieldError, required } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";

interface FlowControlObject extends KubeObject {
  readonly spec: object;
  readonly status: { readonly conditions?: readonly { readonly type?: string }[] };
}

type StatusHooks = "prepareCreate" | "prepareUpdate" | "subresources";

export const statusHooks: Pick<KindSpec<FlowControlObject>, StatusHooks> = {
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepAllMetadata(draft, old);
        keepFields(draft, old, "spec");
      },
      validateUpdate: validateStatus,
    },
  },
};

/** Each type of condition once, and named. */
export function validateStatus({ status }: FlowControlObject): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, { type = "" }] of (status.conditions ?? []).entries()) {
    const at = Path.of("status", "conditions").index(i).child("type");
    if (seen.has(type)) errors.push(duplicate(at, type));
    if (type === "") errors.push(required(at, ""));
    seen.add(type);
  }
  return errors;
}
