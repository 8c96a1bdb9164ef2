/** The refusal of a plug-in: 403 Forbidden with the name of the object. */
import type { Status, StatusCause } from "#api/generated/meta.v1.ts";
import { forbiddenStatus } from "#api/meta/status.ts";
import type { AdmissionRequest } from "./admission-request.ts";

export function refuse(
  request: Pick<AdmissionRequest, "kind" | "name" | "object">,
  why: string,
  ...causes: readonly StatusCause[]
): Status {
  const { kind, object } = request;
  const { name, generateName } = object?.metadata ?? {};
  // A name that is still to be generated is not known yet.
  const called = request.name || name || generateName || "Unknown";
  const status = forbiddenStatus({ group: kind.group, resource: kind.names.plural }, called, why);
  return causes.length === 0 ? status : { ...status, details: { ...status.details, causes } };
}
