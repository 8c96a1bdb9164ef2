/** The answer for an ExternalName Service: its CNAME, and the addresses of what that leads to. */
import type { Forwarder } from "../forward/forwarder.ts";
import { typeNumber } from "../wire/codes.ts";
import { encodeQuestion } from "../wire/encode-question.ts";
import { addressesIn } from "../wire/foreign-answer.ts";
import type { Query } from "../wire/parse-query.ts";
import { type Lookup, NO_DATA, recordsOf } from "../zone/lookup.ts";
import type { DnsRecord } from "../zone/records.ts";
import type { Zone } from "../zone/zone.ts";

/** ExternalName Services that lead to each other: no more than this many in a row, as with CoreDNS. */
const ALIASES_MAX = 8;

export interface AliasQuestion {
  readonly zone: Zone;
  /** Who is asked for a name outside the cluster. */
  forwarder(name: string): Forwarder | undefined;
  readonly query: Query;
  readonly type: string;
  readonly alias: Extract<Lookup, { outcome: "alias" }>;
}

export async function resolveAlias(
  { zone, forwarder, query, type, alias }: AliasQuestion,
  signal: AbortSignal,
): Promise<Lookup> {
  const { name, target } = alias;
  if (type === "SRV") {
    return recordsOf([{ type, name, priority: 0, weight: 100, port: 0, target }]);
  }
  if (type !== "A" && type !== "AAAA" && type !== "CNAME") return NO_DATA;
  const chain: DnsRecord[] = [{ type: "CNAME", name, target }];
  if (type === "CNAME") return recordsOf(chain);
  let last = target;
  while (chain.length < ALIASES_MAX) {
    const next = zone.lookup(last, type);
    if (next.outcome === "alias") {
      chain.push({ type: "CNAME", name: next.name, target: next.target });
      last = next.target;
      continue;
    }
    if (next.outcome === "records") return recordsOf([...chain, ...next.answers]);
    if (next.outcome !== "outside") return recordsOf(chain);
    const upstreams = forwarder(last);
    if (upstreams === undefined) return recordsOf(chain);
    const question = encodeQuestion(last, typeNumber(type));
    const forwarded = await upstreams.resolve({ ...query, name: last, question }, signal);
    if (forwarded.outcome !== "answer") return recordsOf(chain);
    return recordsOf([...chain, ...addressesIn(forwarded.answer)]);
  }
  return recordsOf(chain);
}
