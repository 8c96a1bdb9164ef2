/**
 * Writes rules with `iptables-restore --noflush`, IPv6 with `ip6tables-restore`. Shared chains are
 * written whole, chains of Services only where they changed.
 */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import type { BaseRules, RuleWorld, RuleWriter } from "../writer.ts";
import { FILTER_CHAINS, filterTail, JUMPS, type Jump, NAT_CHAINS, natTail } from "./render-base.ts";
import { type IptablesLines, renderService, type SharedChain } from "./render-service.ts";

const OWN_CHAIN = /^:(KUBE-(?:SVC|SVL|EXT|FW|SEP)-[A-Z2-7]{16}) /gm;
const SAVE_BYTES_MAX = 256 * 1024 * 1024;
/** Seconds to wait for another program that holds the lock of iptables. */
const WAIT = ["-w", "5"];

export class IptablesWriter implements RuleWriter {
  readonly #program: "iptables" | "ip6tables";
  /** What is in the kernel; undefined until the first sync and after a failure. */
  #written:
    | { readonly baseText: string; readonly services: Map<string, IptablesLines> }
    | undefined;

  constructor(family: IpFamily) {
    this.#program = family === "IPv4" ? "iptables" : "ip6tables";
  }

  async sync({ base, services }: RuleWorld, changed: ReadonlySet<string> | "all"): Promise<void> {
    const last = this.#written;
    const baseText = JSON.stringify(base);
    const isWhole = last === undefined || changed === "all" || last.baseText !== baseText;
    const keys = isWhole ? [...services.keys()] : [...changed];
    const known = isWhole ? new Map<string, IptablesLines>() : last.services;
    const stale = new Set<string>(isWhole ? await this.#ownChains() : []);
    const chains = new Map<string, readonly string[]>();
    for (const key of keys) {
      for (const name of known.get(key)?.chains.keys() ?? []) stale.add(name);
      const ports = services.get(key) ?? [];
      const lines = renderService(base, ports);
      if (ports.length === 0) known.delete(key);
      else known.set(key, lines);
      for (const [name, rules] of lines.chains) chains.set(name, rules);
    }
    for (const name of chains.keys()) stale.delete(name);
    this.#written = undefined;
    const input = render(base, known, chains, stale);
    await mustRun(`${this.#program}-restore`, [...WAIT, "--noflush"], { input });
    if (isWhole) for (const each of JUMPS) await this.#ensureJump(each);
    this.#written = { baseText, services: known };
  }

  async isIntact(): Promise<boolean> {
    for (const each of JUMPS) {
      if (!(await this.#hasJump(each))) return false;
    }
    return true;
  }

  async cleanup(): Promise<void> {
    this.#written = undefined;
    for (const { table, from, to, match } of JUMPS) {
      // Fails when the rule is not there; several copies may be.
      for (let copies = 0; copies < 10; copies++) {
        const args = [...WAIT, "-t", table, "-D", from, ...match, "-j", to];
        if ((await runProgram(this.#program, args)).exitCode !== 0) break;
      }
    }
    const chains = {
      filter: [...FILTER_CHAINS],
      nat: [...NAT_CHAINS, ...(await this.#ownChains())],
    };
    const input = Object.entries(chains).flatMap(([table, names]) => [
      `*${table}`,
      ...names.map((name) => `:${name} - [0:0]`),
      ...names.map((name) => `-X ${name}`),
      "COMMIT",
    ]);
    const restore = [...WAIT, "--noflush"];
    await mustRun(`${this.#program}-restore`, restore, { input: `${input.join("\n")}\n` });
  }

  /** Chains of Services that are in the kernel, whoever made them. */
  async #ownChains(): Promise<string[]> {
    const saved = await mustRun(`${this.#program}-save`, ["-t", "nat"], {
      outputBytesMax: SAVE_BYTES_MAX,
    });
    return [...saved.matchAll(OWN_CHAIN)].map(([, name = ""]) => name);
  }

  async #hasJump({ table, from, to, match }: Jump): Promise<boolean> {
    const args = [...WAIT, "-t", table, "-C", from, ...match, "-j", to];
    return (await runProgram(this.#program, args)).exitCode === 0;
  }

  async #ensureJump(each: Jump): Promise<void> {
    if (await this.#hasJump(each)) return;
    const { table, from, to, match } = each;
    await mustRun(this.#program, [...WAIT, "-t", table, "-I", from, ...match, "-j", to]);
  }
}

function render(
  base: BaseRules,
  services: ReadonlyMap<string, IptablesLines>,
  chains: ReadonlyMap<string, readonly string[]>,
  stale: ReadonlySet<string>,
): string {
  const shared = (of: SharedChain): string[] => {
    const [, chain] = of.split(" ");
    return [...services.values()].flatMap(({ shared: lines }) =>
      (lines.get(of) ?? []).map((rule) => `-A ${chain} ${rule}`),
    );
  };
  const own = [...chains].flatMap(([name, rules]) => rules.map((rule) => `-A ${name} ${rule}`));
  const declare = (names: Iterable<string>): string[] =>
    [...names].map((name) => `:${name} - [0:0]`);
  return `${[
    "*filter",
    ...declare(FILTER_CHAINS),
    ...shared("filter KUBE-SERVICES"),
    ...shared("filter KUBE-EXTERNAL-SERVICES"),
    ...shared("filter KUBE-PROXY-FIREWALL"),
    ...filterTail(base),
    "COMMIT",
    "*nat",
    ...declare([...NAT_CHAINS, ...chains.keys(), ...stale]),
    ...shared("nat KUBE-SERVICES"),
    ...shared("nat KUBE-NODEPORTS"),
    ...own,
    ...natTail(base),
    ...[...stale].map((name) => `-X ${name}`),
    "COMMIT",
  ].join("\n")}\n`;
}
