/** PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. */
import { failure, unsupportedMediaTypeStatus } from "#api/meta/status.ts";
import type { VerbRequest, VerbResult } from "../verb.ts";

export async function patch(_verb: VerbRequest): Promise<VerbResult> {
  return failure(unsupportedMediaTypeStatus([]));
}
