/**
 * Answers one packet. Names of the cluster are answered at once, from the zone; others may wait for an
 * upstream.
 *
 * Promises:
 * 1. Every packet with a header is answered, except responses: FORMERR for malformed ones, NOTIMP for
 *    other operations than queries, REFUSED for other classes than IN and for zone transfers, BADVERS for
 *    other versions of EDNS.
 * 2. Negative answers about the cluster have its SOA record, so that clients forget them soon.
 * 3. Answers that are the same for the next query like it are encoded once, until something changes.
 * 4. Before the zone is complete (`ready`), names of the cluster get SERVFAIL: not knowing is no NXDOMAIN.
 */

import type { MaybePromise } from "#lib/async/maybe-promise.ts";
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
import { addressesIn, encodeForeignAnswer, readForeignAnswer } from "../wire/foreign-answer.ts";
import { parseQuery, type Query } from "../wire/parse-query.ts";
import { type Lookup, NAME_ERROR } from "../zone/lookup.ts";
import type { PodAddresses } from "../zone/pod-addresses.ts";
import type { DnsRecord } from "../zone/records.ts";
import type { Zone } from "../zone/zone.ts";
import { searchedNames } from "./auto-path.ts";
import { answerTo, EncodedAnswers, isRepeatable } from "./encoded-answers.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import { resolveAlias } from "./resolve-alias.ts";
import type { Route, Routes } from "./routes.ts";

export type Carrier = "udp" | "tcp";

export interface ResponderOptions {
  readonly zone: Zone;
  readonly ttlSeconds: number;
  readonly pods: PodAddresses;
  /** The configuration that holds now. */
  routes(): Routes;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: RequestMetrics;
  /** Whether the zone is complete. */
  ready(): boolean;
  /** Called when a name was found further on in a search list. */
  onAutoPath?(): void;
  /** Called for queries of server blocks with the plugin log. */
  onLogged?(query: Query, answer: Buffer | undefined, tookMs: number): void;
}

/** Where a packet came from. */
export interface Origin {
  readonly carrier: Carrier;
  readonly family: "1" | "2";
  /** The IP address. */
  readonly client: string;
}

export class Responder {
  readonly #options: ResponderOptions;
  readonly #encoder = new AnswerEncoder();
  /** Of queries over UDP, by the family of the address. */
  readonly #encoded: Readonly<Record<Origin["family"], EncodedAnswers>>;

  constructor(options: ResponderOptions) {
    const { clock } = options;
    this.#options = options;
    this.#encoded = { 1: new EncodedAnswers(clock), 2: new EncodedAnswers(clock) };
  }

  /** Undefined: no answer. */
  respond(
    packet: Buffer,
    origin: Origin,
    signal: AbortSignal,
  ): Buffer | undefined | Promise<Buffer | undefined> {
    const { metrics, clock, zone } = this.#options;
    const startMs = clock.elapsedMs();
    const encoded = origin.carrier === "udp" ? this.#encoded[origin.family] : undefined;
    const known = encoded?.find(packet, zone.version, this.#options.routes());
    if (known !== undefined) {
      const answer = answerTo(packet, known);
      known.series.count(packet.length, answer.length, clock.elapsedMs() - startMs);
      return answer;
    }
    const parsed = parseQuery(packet);
    switch (parsed.outcome) {
      case "ignored":
        return undefined;
      case "refused":
        metrics.malformed(origin, parsed.rcode, packet.length);
        return encodeRefusal(parsed.id, parsed.flags, parsed.rcode);
      case "query": {
        const { query } = parsed;
        const count = (answer: Buffer | undefined, isNow: boolean): Buffer | undefined => {
          const config = this.#options.routes().find(query.name)?.config;
          if (answer !== undefined) {
            const series = metrics.series(origin, query, answer);
            series.count(packet.length, answer.length, clock.elapsedMs() - startMs);
            if (isNow && config !== undefined && isRepeatable(answer, config)) {
              encoded?.keep(packet, answer, series);
            }
          }
          if (config?.isLogged === true) {
            this.#options.onLogged?.(query, answer, clock.elapsedMs() - startMs);
          }
          return answer;
        };
        const answer = this.#answer(query, origin, signal);
        if (answer instanceof Promise) return answer.then((later) => count(later, false));
        return count(answer, true);
      }
    }
  }

  #answer(
    query: Query,
    { carrier, client }: Origin,
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
    const next = this.#searched(query, type, client, route);
    if (next.length > 0) return this.#autoPath(query, next, bytesMax, signal);
    return this.#answerByRoute(query, { route, routes, type, bytesMax }, signal);
  }

  #searched(query: Query, type: string, client: string, { config }: Route): readonly string[] {
    const { zone, pods } = this.#options;
    const { autoPath, kubernetes } = config;
    if (autoPath === undefined || kubernetes === undefined) return [];
    const { machineSearch } = autoPath;
    const { domain } = zone;
    return searchedNames(
      { name: query.name, type, client, domain, kubernetes, machineSearch },
      pods,
    );
  }

  /** The answer for the name itself unless it does not exist, else that for the first of `next` that does. */
  async #autoPath(
    query: Query,
    next: readonly string[],
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> {
    const type = typeName(query.type);
    const routes = this.#options.routes();
    const answerTo = (asked: Query, bytes: number): MaybePromise<Buffer> | undefined => {
      const route = routes.find(asked.name);
      return route && this.#answerByRoute(asked, { route, routes, type, bytesMax: bytes }, signal);
    };
    const own = await answerTo(query, bytesMax);
    if (own === undefined || rcodeOf(own) !== RCODES.NXDOMAIN) return own;
    for (const name of next) {
      if (!isPlainName(name)) continue;
      const question = encodeQuestion(name, query.type);
      const found = await answerTo({ ...query, name, question }, MESSAGE_BYTES_MAX);
      if (found === undefined || rcodeOf(found) !== RCODES.NOERROR) continue;
      const read = readForeignAnswer(found, query.id, question);
      if (read === undefined) continue;
      this.#options.onAutoPath?.();
      const alias: DnsRecord = { type: "CNAME", name: query.name, target: name };
      const answers = [alias, ...addressesIn(read)];
      const ttlSeconds = read.ttlSeconds ?? this.#options.ttlSeconds;
      const answer = { ...EMPTY, recursionAvailable: true, ttlSeconds, answers };
      return this.#encode(query, answer, bytesMax);
    }
    return own;
  }

  #answerByRoute(
    query: Query,
    { route, routes, type, bytesMax }: Omit<Asked, "query" | "name">,
    signal: AbortSignal,
  ): Buffer | Promise<Buffer> {
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
    const isPodName = isInZone(name, `pod.${zone.domain}`);
    const looked = isPodName && pods === "disabled" ? NAME_ERROR : zone.lookup(name, type);
    const isUnknown = isPodName && pods === "verified" && !this.#isOfPod(name, looked);
    const found = isUnknown ? NAME_ERROR : looked;
    if (found.outcome === "outside") return this.#forward(asked, signal);
    if (!ready()) return this.#refusal(query, "SERVFAIL", bytesMax);
    if (found.outcome !== "alias") return this.#encodeLookup(asked, found, ttlSeconds, true);
    const forwarder = (target: string) => routes.find(target)?.forwarder(target);
    const resolved = resolveAlias({ zone, forwarder, query, type, alias: found }, signal);
    return resolved.then((lookup) => this.#encodeLookup(asked, lookup, ttlSeconds, true));
  }

  /** Whether a pod of the namespace in the name has the address in the answer. */
  #isOfPod(name: string, found: Lookup): boolean {
    if (found.outcome !== "records") return true;
    const namespace = name.split(".")[1] ?? "";
    return found.answers.every(
      (record) => !("address" in record) || this.#options.pods.has(namespace, [...record.address]),
    );
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

function rcodeOf(answer: Buffer): number {
  return answer.readUInt16BE(2) & 0xf;
}

function bytesMaxOf({ edns }: Query, carrier: Carrier): number {
  if (carrier === "tcp") return MESSAGE_BYTES_MAX;
  return Math.min(Math.max(edns?.udpBytes ?? UDP_BYTES_MIN, UDP_BYTES_MIN), UDP_BYTES_MAX);
}
