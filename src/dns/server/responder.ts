/**
 * Answers one packet. Names of the cluster are answered at once, from the zone; others may wait for an
 * upstream.
 *
 * Promises:
 * 1. Every packet with a header is answered, except responses: FORMERR for malformed ones, NOTIMP for
 *    other operations than queries, REFUSED for other classes than IN and for zone transfers, BADVERS for
 *    other versions of EDNS.
 * 2. Negative answers about the cluster have its SOA record, so that clients forget them soon.
 * 3. Before the zone is complete (`ready`), names of the cluster get SERVFAIL: not knowing is no NXDOMAIN.
 */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { Forwarder } from "../forward/forwarder.ts";
import {
  CLASS_IN,
  MESSAGE_BYTES_MAX,
  type Rcode,
  typeName,
  UDP_BYTES_MAX,
  UDP_BYTES_MIN,
} from "../wire/codes.ts";
import { type Answer, AnswerEncoder, encodeRefusal } from "../wire/encode-answer.ts";
import { encodeForeignAnswer } from "../wire/foreign-answer.ts";
import { parseQuery, type Query } from "../wire/parse-query.ts";
import type { Lookup } from "../zone/lookup.ts";
import type { DnsRecord } from "../zone/records.ts";
import type { Zone } from "../zone/zone.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { resolveAlias } from "./resolve-alias.ts";

export type Carrier = "udp" | "tcp";

export interface ResponderOptions {
  readonly zone: Zone;
  readonly ttlSeconds: number;
  /** Undefined: names outside the cluster are refused. */
  readonly forwarder: Forwarder | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: RequestMetrics;
  /** Whether the zone is complete. */
  ready(): boolean;
  /** Sees the name of every query; true if it must not be answered. */
  isProbe?(name: string): boolean;
}

/** Where a packet came from. */
export interface Origin {
  readonly carrier: Carrier;
  readonly family: "1" | "2";
}

export class Responder {
  readonly #options: ResponderOptions;
  readonly #encoder = new AnswerEncoder();

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /** Undefined: no answer. */
  respond(
    packet: Buffer,
    origin: Origin,
    signal: AbortSignal,
  ): Buffer | undefined | Promise<Buffer | undefined> {
    const { metrics, clock } = this.#options;
    const startMs = clock.elapsedMs();
    const parsed = parseQuery(packet);
    switch (parsed.outcome) {
      case "ignored":
        return undefined;
      case "refused":
        metrics.malformed(origin, parsed.rcode, packet.length);
        return encodeRefusal(parsed.id, parsed.flags, parsed.rcode);
      case "query": {
        const { query } = parsed;
        const count = (answer: Buffer | undefined): Buffer | undefined => {
          if (answer !== undefined) {
            metrics.answered(origin, query, packet.length, answer, clock.elapsedMs() - startMs);
          }
          return answer;
        };
        const answer = this.#answer(query, origin, signal);
        return answer instanceof Promise ? answer.then(count) : count(answer);
      }
    }
  }

  #answer(
    query: Query,
    { carrier }: Origin,
    signal: AbortSignal,
  ): Buffer | undefined | Promise<Buffer | undefined> {
    const { zone, ready, isProbe } = this.#options;
    const bytesMax = bytesMaxOf(query, carrier);
    if (query.edns !== undefined && query.edns.version !== 0) {
      return this.#refusal(query, "BADVERS", bytesMax);
    }
    const type = typeName(query.type);
    const isTransfer = type === "AXFR" || type === "IXFR";
    if (query.class !== CLASS_IN || isTransfer) return this.#refusal(query, "REFUSED", bytesMax);
    if (isProbe?.(query.name) === true) return undefined;
    const found = zone.lookup(query.name, type);
    if (found.outcome === "outside") return this.#forward(query, bytesMax, signal);
    if (!ready()) return this.#refusal(query, "SERVFAIL", bytesMax);
    if (found.outcome !== "alias") return this.#encode(query, this.#answerOf(found), bytesMax);
    const { forwarder } = this.#options;
    const resolved = resolveAlias({ zone, forwarder, query, type, alias: found }, signal);
    return resolved.then((lookup) => this.#encode(query, this.#answerOf(lookup), bytesMax));
  }

  #answerOf(found: Lookup): Answer {
    const { zone, ttlSeconds, clock } = this.#options;
    const isFound = found.outcome === "records";
    const soa = isFound ? [] : [zone.soa(Math.floor(clock.nowMs() / 1000))];
    return {
      rcode: found.outcome === "name-error" ? "NXDOMAIN" : "NOERROR",
      authoritative: true,
      recursionAvailable: false,
      ttlSeconds,
      answers: isFound ? this.#shuffled(found.answers) : [],
      authorities: soa,
      additionals: isFound ? found.additionals : [],
    };
  }

  /** Clients take the first address: each answer begins with another one. */
  #shuffled(records: readonly DnsRecord[]): readonly DnsRecord[] {
    if (records.length < 2 || records[0]!.type === "CNAME") return records;
    const first = this.#options.random.integer(records.length);
    return [...records.slice(first), ...records.slice(0, first)];
  }

  async #forward(query: Query, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
    const { forwarder } = this.#options;
    if (forwarder === undefined) return this.#refusal(query, "REFUSED", bytesMax);
    const forwarded = await forwarder.resolve(query, signal);
    switch (forwarded.outcome) {
      case "answer":
        return encodeForeignAnswer(forwarded.answer, query, forwarded.ttlSeconds, bytesMax);
      case "failed":
        return this.#refusal(query, "SERVFAIL", bytesMax);
      case "refused":
        return this.#refusal(query, "REFUSED", bytesMax);
    }
  }

  #refusal(query: Query, rcode: Rcode, bytesMax: number): Buffer {
    return this.#encode(query, { ...EMPTY, rcode }, bytesMax);
  }

  #encode(query: Query, answer: Answer, bytesMax: number): Buffer {
    return this.#encoder.encode(query, answer, bytesMax);
  }
}

const EMPTY: Answer = {
  rcode: "NOERROR",
  authoritative: false,
  recursionAvailable: false,
  ttlSeconds: 0,
  answers: [],
  authorities: [],
  additionals: [],
};

function bytesMaxOf({ edns }: Query, carrier: Carrier): number {
  if (carrier === "tcp") return MESSAGE_BYTES_MAX;
  return Math.min(Math.max(edns?.udpBytes ?? UDP_BYTES_MIN, UDP_BYTES_MIN), UDP_BYTES_MAX);
}
