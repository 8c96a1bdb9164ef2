/** PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. */
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { decodePatch } from "../write/decode-write.ts";
import { writeObject } from "../write/write-object.ts";
import { writtenAnswer } from "./written-answer.ts";

export async function patch(verb: VerbRequest): Promise<VerbResult> {
  const write = decodePatch(verb);
  return write.ok ? writtenAnswer(verb, await writeObject(verb, write.value)) : write;
}
