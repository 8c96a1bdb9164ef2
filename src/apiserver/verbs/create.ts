/** POST to a collection: a new object. */
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { decodeCreate } from "../write/decode-write.ts";
import { writeObject } from "../write/write-object.ts";
import { writtenAnswer } from "./written-answer.ts";

export async function create(verb: VerbRequest): Promise<VerbResult> {
  const decoded = verb.pace.run(decodeCreate(verb));
  const write = decoded instanceof Promise ? await decoded : decoded;
  return write.ok ? writtenAnswer(verb, await writeObject(verb, write.value)) : write;
}
