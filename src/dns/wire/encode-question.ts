/** The question section of a name, and the query that asks another server for it. */
import { CLASS_IN, FLAG_CHECKING_DISABLED, FLAG_RECURSION_DESIRED, HEADER_BYTES } from "./codes.ts";
import { OPT_BYTES, writeOpt } from "./encode-answer.ts";
import type { Query } from "./parse-query.ts";

/** `name` has plain labels, none longer than 63 bytes. */
export function encodeQuestion(name: string, type: number): Buffer {
  const labels = name === "" ? [] : name.split(".");
  const parts = labels.flatMap((label) => [
    Buffer.from([label.length]),
    Buffer.from(label, "latin1"),
  ]);
  const tail = Buffer.from([0, type >> 8, type & 0xff, 0, CLASS_IN]);
  return Buffer.concat([...parts, tail]);
}

/** It asks for recursion and accepts as much over UDP as is sent to clients. */
export function encodeUpstreamQuery(id: number, query: Query): Buffer {
  const packet = Buffer.alloc(HEADER_BYTES + query.question.length + OPT_BYTES);
  packet.writeUInt16BE(id, 0);
  const checking = query.checkingDisabled ? FLAG_CHECKING_DISABLED : 0;
  packet.writeUInt16BE(FLAG_RECURSION_DESIRED | checking, 2);
  packet.writeUInt16BE(1, 4);
  packet.writeUInt16BE(1, 10);
  query.question.copy(packet, HEADER_BYTES);
  writeOpt(packet, HEADER_BYTES + query.question.length, query.edns?.dnssecOk === true, 0);
  return packet;
}
