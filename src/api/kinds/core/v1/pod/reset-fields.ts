/** What a write to a subresource of a pod cannot change, so that its writer does not come to own it. */
import { fieldSet } from "#api/apply/field-set.ts";
import type { FieldFilter } from "#api/apply/versions.ts";

export const POD_RESET_FIELDS: Readonly<Record<string, FieldFilter>> = {
  status: {
    except: fieldSet(["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]),
  },
  ephemeralcontainers: { only: [["spec", "ephemeralContainers"]] },
  resize: {
    only: ["containers", "initContainers"].flatMap((list) =>
      ["resources", "resizePolicy"].map((field) => ["spec", list, "*", field]),
    ),
  },
};
