/**
 * Answers that were encoded before, by the bytes of their queries. Most queries are repeated: without a
 * look at its name, such a query costs less than half of the processor time.
 *
 * Promises:
 * 1. An answer is given again only while the zone and the configuration are those that it was made of.
 * 2. A negative answer, whose SOA record has the time as its serial, is given within the same second.
 * 3. There are at most 2,048 answers; beyond that the oldest goes.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { BlockConfig } from "../config/dns-config.ts";
import { RCODES, UDP_BYTES_MIN } from "../wire/codes.ts";
import type { AnswerSeries } from "./request-metrics.ts";

const ANSWERS_MAX = 2_048;

export interface EncodedAnswer {
  /** One character for each byte; a Buffer would take twice the memory. */
  readonly text: string;
  readonly series: AnswerSeries;
  /** Undefined: as long as zone and configuration stay. */
  readonly second: number | undefined;
}

export class EncodedAnswers {
  readonly #clock: Clock;
  readonly #answers = new Map<string, EncodedAnswer>();
  #zoneVersion = -1;
  #configuration: object | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Configurations are compared by identity. */
  find(query: Buffer, zoneVersion: number, configuration: object): EncodedAnswer | undefined {
    if (zoneVersion !== this.#zoneVersion || configuration !== this.#configuration) {
      this.#answers.clear();
      this.#zoneVersion = zoneVersion;
      this.#configuration = configuration;
      return undefined;
    }
    const known = this.#answers.get(keyOf(query));
    const isOver = known?.second !== undefined && known.second !== this.#second();
    return isOver ? undefined : known;
  }

  /** Keeps an answer that is repeatable, made of the zone and configuration of the last `find`. */
  keep(query: Buffer, answer: Buffer, series: AnswerSeries): void {
    if (query.length > UDP_BYTES_MIN) return;
    const key = keyOf(query);
    if (this.#answers.size >= ANSWERS_MAX && !this.#answers.has(key)) {
      const [oldest = ""] = this.#answers.keys();
      this.#answers.delete(oldest);
    }
    const second = hasAuthority(answer) ? this.#second() : undefined;
    this.#answers.set(key, { text: answer.toString("latin1"), series, second });
  }

  #second(): number {
    return Math.floor(this.#clock.nowMs() / 1000);
  }
}

/** The answer with the id of the query. */
export function answerTo(query: Buffer, { text }: EncodedAnswer): Buffer {
  const answer = Buffer.from(text, "latin1");
  answer[0] = query[0]!;
  answer[1] = query[1]!;
  return answer;
}

/**
 * Whether the same query gets the same answer while the zone and the configuration stay. Not if records take
 * turns at the first place, if the answer depends on pods or on the client, or if queries are logged.
 */
export function isRepeatable(answer: Buffer, config: BlockConfig): boolean {
  const rcode = answer[3]! & 0xf;
  if (rcode !== RCODES.NOERROR && rcode !== RCODES.NXDOMAIN) return false;
  if (answer.readUInt16BE(6) > 1) return false;
  if (config.isLogged || config.autoPath !== undefined) return false;
  return config.kubernetes?.pods !== "verified";
}

function hasAuthority(answer: Buffer): boolean {
  return answer.readUInt16BE(8) > 0;
}

/** All but the id. */
function keyOf(query: Buffer): string {
  return query.toString("latin1", 2);
}
