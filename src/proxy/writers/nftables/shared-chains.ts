/**
 * Chains and maps that Services without chains of their own share. A Service of three endpoints leads to
 * the chain for three, which picks a position at random and looks the Service up in the map of that
 * position:
 *
 *     map service-ips     { 10.96.0.1 . tcp . 80 : goto balance-tcp-3 }
 *     chain balance-tcp-3 { numgen random mod 3 vmap { 0 : goto endpoint-tcp-0, … } }
 *     chain endpoint-tcp-0 { meta l4proto tcp dnat ip to ip daddr . th dport map @endpoints-tcp-0 }
 *     map endpoints-tcp-0 { 10.96.0.1 . 80 : 10.244.0.7 . 8080 }
 *
 * Thousands of Services are elements of few maps then. A chain, a rule and an anonymous map for each of
 * them takes several times as long to write, and makes `nft` read them all before each change.
 */
import type { Protocol } from "../../rules/service-rules.ts";
import type { BaseRules } from "../writer.ts";
import { addressType, ipWord, tableName } from "./render-base.ts";

/** Services with more endpoints have a chain of their own, so that there are few maps. */
export const SHARED_ENDPOINTS_MAX = 64;

/** The chain that picks among so many endpoints. */
export function balanceChain(protocol: Protocol, endpoints: number): string {
  return endpoints === 1 ? endpointChain(protocol, 0) : `balance-${protocol}-${endpoints}`;
}

/** The map with the endpoint of each Service at one position. */
export function endpointMap(protocol: string, position: number): string {
  return `endpoints-${protocol}-${position}`;
}

/** Knows which shared chains and maps the table has. They stay until the table is written anew. */
export class SharedChains {
  readonly #base: BaseRules;
  readonly #maps: Record<Protocol, number> = { tcp: 0, udp: 0, sctp: 0 };
  readonly #balance = new Set<string>();

  constructor(base: BaseRules) {
    this.#base = base;
  }

  /** The commands that make what a Service of so many endpoints leads to, as far as it is missing. */
  add(protocol: Protocol, endpoints: number): string[] {
    const table = tableName(this.#base);
    const commands: string[] = [];
    for (; this.#maps[protocol] < endpoints; this.#maps[protocol]++) {
      const position = this.#maps[protocol];
      const chain = endpointChain(protocol, position);
      commands.push(
        `add map ${table} ${endpointMap(protocol, position)} ${this.#mapType()}`,
        `add chain ${table} ${chain}`,
        `add rule ${table} ${chain} ${this.#translate(protocol, position)}`,
      );
    }
    const chain = balanceChain(protocol, endpoints);
    if (endpoints < 2 || this.#balance.has(chain)) return commands;
    this.#balance.add(chain);
    const targets = Array.from({ length: endpoints }, (_, i) => {
      return `${i} : goto ${endpointChain(protocol, i)}`;
    });
    const pick = `numgen random mod ${endpoints} vmap { ${targets.join(", ")} }`;
    commands.push(`add chain ${table} ${chain}`, `add rule ${table} ${chain} ${pick}`);
    return commands;
  }

  #mapType(): string {
    const socket = `${addressType(this.#base.family)} . inet_service`;
    return `{ type ${socket} : ${socket}; }`;
  }

  #translate(protocol: Protocol, position: number): string {
    const ip = ipWord(this.#base.family);
    const lookup = `${ip} daddr . th dport map @${endpointMap(protocol, position)}`;
    return `meta l4proto ${protocol} dnat ${ip} to ${lookup}`;
  }
}

function endpointChain(protocol: Protocol, position: number): string {
  return `endpoint-${protocol}-${position}`;
}
