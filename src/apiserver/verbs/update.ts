/** PUT: the whole object, or what one of its sub-resources covers. */
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { decodeUpdate } from "../write/decode-write.ts";
import { writeObject } from "../write/write-object.ts";
import { writtenAnswer } from "./written-answer.ts";

export async function update(verb: VerbRequest): Promise<VerbResult> {
  const write = await verb.pace.run(decodeUpdate(verb));
  return write.ok ? writtenAnswer(verb, await writeObject(verb, write.value)) : write;
}
