import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { type BlockConfig, defaultConfig } from "../config/dns-config.ts";
import { RCODES, type Rcode } from "../wire/codes.ts";
import { answerTo, EncodedAnswers, isRepeatable } from "./encoded-answers.ts";

const SERIES = { count: () => undefined };
const ANSWERS_MAX = 2_048;
const [DEFAULT] = defaultConfig([]).blocks as [BlockConfig];
const CONFIGURATION = {};

function queryOf(id: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([id >> 8, id & 255]), Buffer.from(text)]);
}

function message(rcode: Rcode, answers: number, authorities = 0): Buffer {
  return Buffer.from([0, 7, 0x84, RCODES[rcode], 0, 1, 0, answers, 0, authorities, 0, 0, 255]);
}

function filled(answer: Buffer, clock = new VirtualClock()): EncodedAnswers {
  const encoded = new EncodedAnswers(clock);
  assert.equal(encoded.find(queryOf(1, "a"), 1, CONFIGURATION), undefined);
  encoded.keep(queryOf(1, "a"), answer, SERIES);
  return encoded;
}

test("encoded answers: a repeated query gets the same bytes with its own id", () => {
  const answer = message("NOERROR", 1);
  const query = queryOf(0xfffe, "a");
  const known = filled(answer).find(query, 1, CONFIGURATION);
  assert.ok(known);
  const want = Buffer.from(answer);
  want.writeUInt16BE(0xfffe, 0);
  assert.deepEqual(answerTo(query, known), want);
});

test("encoded answers: nothing is found for another query, after a change of the zone or of the Corefile", () => {
  const answer = message("NOERROR", 1);
  assert.equal(filled(answer).find(queryOf(1, "b"), 1, CONFIGURATION), undefined);
  assert.equal(filled(answer).find(queryOf(1, "a"), 2, CONFIGURATION), undefined);
  assert.equal(filled(answer).find(queryOf(1, "a"), 1, {}), undefined);
});

test("encoded answers: one with a SOA record is found within the same second only", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const encoded = filled(message("NXDOMAIN", 0, 1), clock);
  await clock.advance(999);
  assert.ok(encoded.find(queryOf(1, "a"), 1, CONFIGURATION));
  await clock.advance(1);
  assert.equal(encoded.find(queryOf(1, "a"), 1, CONFIGURATION), undefined);
});

test("encoded answers: beyond the limit the oldest goes; queries above 512 bytes are not kept", () => {
  const encoded = filled(message("NOERROR", 1));
  for (let i = 0; i < ANSWERS_MAX; i++) {
    encoded.keep(queryOf(1, `query ${i}`), message("NOERROR", 1), SERIES);
  }
  assert.equal(encoded.find(queryOf(1, "a"), 1, CONFIGURATION), undefined);
  assert.ok(encoded.find(queryOf(1, "query 0"), 1, CONFIGURATION));
  encoded.keep(queryOf(1, "x".repeat(600)), message("NOERROR", 1), SERIES);
  assert.equal(encoded.find(queryOf(1, "x".repeat(600)), 1, CONFIGURATION), undefined);
});

describe("encoded answers: an answer is repeatable", () => {
  const kubernetes = { ttlSeconds: undefined, pods: "verified" as const };
  const rows = [
    { name: "NOERROR with one record", answer: message("NOERROR", 1), want: true },
    { name: "NODATA and NXDOMAIN", answer: message("NXDOMAIN", 0, 1), want: true },
    { name: "not SERVFAIL", answer: message("SERVFAIL", 0), want: false },
    { name: "not with records that take turns", answer: message("NOERROR", 2), want: false },
    { name: "not with the plugin log", config: { isLogged: true }, want: false },
    { name: "not with autopath", config: { autoPath: { machineSearch: [] } }, want: false },
    { name: "not with pods verified", config: { kubernetes }, want: false },
  ];
  for (const { name, answer = message("NOERROR", 1), config = {}, want } of rows) {
    test(name, () => assert.equal(isRepeatable(answer, { ...DEFAULT, ...config }), want));
  }
});
