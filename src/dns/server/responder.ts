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

import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { isInZone, type KubernetesConfig } from "../config/dns-config.ts";
import { rewriteName } from "../config/rewrite-rule.ts";
import {
  CLASS_IN,
  MESSAGE_BYTES_MAX,
  RCODES,
  type Rcode,
  typeName,
  UDP_BYTES_MAX,
  UDP_BYTES_MIN,
} from "../wire/codes.ts";
import { type Answer, AnswerEncoder, encodeRefusal } from "../wire/encode-answer.ts";
import { encodeQuestion } from "../wire/encode-question.ts";
import { addressesIn, encodeForeignAnswer } from "../wire/foreign-answer.ts";
import { parseQuery, type Query } from "../wire/parse-query.ts";
import { type Lookup, NAME_ERROR } from "../zone/lookup.ts";
import type { DnsRecord } from "../zone/records.ts";
import type { Zone } from "../zone/zone.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { resolveAlias } from "./resolve-alias.ts";
import type { Route, Routes } from "./routes.ts";

export type Carrier = "udp" | "tcp";

export interface ResponderOptions {
  readonly zone: Zone;
  readonly ttlSeconds: number;
  /** The configuration that holds now. */
  routes(): Routes;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: RequestMetrics;
  /** Whether the zone is complete. */
  ready(): boolean;
  /** Called for queries of server blocks with the plugin log. */
  onLogged?(query: Query, answer: Buffer | undefined, tookMs: number): void;
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
          if (this.#options.routes().find(query.name)?.config.isLogged === true) {
            this.#options.onLogged?.(query, answer, clock.elapsedMs() - startMs);
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
    const routes = this.#options.routes();
    const bytesMax = bytesMaxOf(query, carrier);
    if (query.edns !== undefined && query.edns.version !== 0) {
      return this.#refusal(query, "BADVERS", bytesMax);
    }
    const type = typeName(query.type);
    const isTransfer = type === "AXFR" || type === "IXFR";
    if (query.class !== CLASS_IN || isTransfer) return this.#refusal(query, "REFUSED", bytesMax);
    if (routes.isProbe(query.name)) return undefined;
    const route = routes.find(query.name);
    if (route === undefined) return this.#refusal(query, "REFUSED", bytesMax);
    const { rewrites, hosts, kubernetes } = route.config;
    const name = rewrites.length === 0 ? query.name : rewriteName(rewrites, query.name);
    const asked: Asked = { query, name, type, route, routes, bytesMax };
    if (hosts !== undefined) {
      const found = hosts.table.lookup(name, type);
      if (found.outcome !== "outside") {
        return this.#encodeLookup(asked, { ...found }, hosts.ttlSeconds, false);
      }
      if (!hosts.isFallthrough) return this.#refusal(query, "NXDOMAIN", bytesMax);
    }
    if (kubernetes === undefined) return this.#forward(asked, signal);
    return this.#answerForCluster(asked, kubernetes, signal);
  }

  #answerForCluster(
    asked: Asked,
    { pods, ttlSeconds = this.#options.ttlSeconds }: KubernetesConfig,
    signal: AbortSignal,
  ): Buffer | Promise<Buffer> {
    const { zone, ready } = this.#options;
    const { query, name, type, routes, bytesMax } = asked;
    const isPod = pods === "disabled" && isInZone(name, `pod.${zone.domain}`);
    const found = isPod ? NAME_ERROR : zone.lookup(name, type);
    if (found.outcome === "outside") return this.#forward(asked, signal);
    if (!ready()) return this.#refusal(query, "SERVFAIL", bytesMax);
    if (found.outcome !== "alias") return this.#encodeLookup(asked, found, ttlSeconds, true);
    const forwarder = (target: string) => routes.find(target)?.forwarder(target);
    const resolved = resolveAlias({ zone, forwarder, query, type, alias: found }, signal);
    return resolved.then((lookup) => this.#encodeLookup(asked, lookup, ttlSeconds, true));
  }

  #encodeLookup(
    { query, name, bytesMax }: Asked,
    found: Lookup,
    ttlSeconds: number,
    isCluster: boolean,
  ): Buffer {
    const answer = this.#answerOf(found, ttlSeconds, isCluster);
    const answers =
      name === query.name ? answer.answers : renamed(answer.answers, name, query.name);
    return this.#encode(query, { ...answer, answers }, bytesMax);
  }

  #answerOf(found: Lookup, ttlSeconds: number, isCluster: boolean): Answer {
    const { zone, clock } = this.#options;
    const isFound = found.outcome === "records";
    const soa = isFound || !isCluster ? [] : [zone.soa(Math.floor(clock.nowMs() / 1000))];
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

  async #forward({ query, name, route, bytesMax }: Asked, signal: AbortSignal): Promise<Buffer> {
    const forwarder = route.forwarder(name);
    if (forwarder === undefined) return this.#refusal(query, "REFUSED", bytesMax);
    const isRenamed = name !== query.name;
    if (isRenamed && !isPlainName(name)) return this.#refusal(query, "SERVFAIL", bytesMax);
    const question = isRenamed ? encodeQuestion(name, query.type) : query.question;
    const forwarded = await forwarder.resolve({ ...query, name, question }, signal);
    switch (forwarded.outcome) {
      case "answer":
        if (isRenamed) {
          const answers = renamed(addressesIn(forwarded.answer), name, query.name);
          const { ttlSeconds } = forwarded;
          const rcode = RCODE_NAMES.find((of) => RCODES[of] === forwarded.answer.rcode);
          const answer = { ...EMPTY, rcode: rcode ?? "SERVFAIL", recursionAvailable: true };
          return this.#encode(query, { ...answer, ttlSeconds, answers }, bytesMax);
        }
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

/** A question on its way: `name` is what is looked up, after rewriting. */
interface Asked {
  readonly query: Query;
  readonly name: string;
  readonly type: string;
  readonly route: Route;
  readonly routes: Routes;
  readonly bytesMax: number;
}

const RCODE_NAMES = Object.keys(RCODES) as Rcode[];

/** A rewritten name may be none that can be asked for. */
function isPlainName(name: string): boolean {
  return name.length < 254 && /^[^.\\]{1,63}(\.[^.\\]{1,63})*$/.test(name);
}

/** Clients only take records of the name that they asked for. */
function renamed(records: readonly DnsRecord[], from: string, to: string): readonly DnsRecord[] {
  return records.map((record) => (record.name === from ? { ...record, name: to } : record));
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
