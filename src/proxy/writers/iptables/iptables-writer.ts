/**
 * Writes rules with `iptables-restore --noflush`, IPv6 with `ip6tables-restore`. Chains of Services are
 * written only where they changed, shared chains only if one of their rules changed.
 */

import { writeFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { IpFamily } from "#api/meta/ip-family.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import type { RuleWorld, RuleWriter } from "../writer.ts";
import { FILTER_CHAINS, JUMPS, type Jump, NAT_CHAINS, sameAddresses } from "./render-base.ts";
import {
  type OwnChains,
  renderRemoval,
  renderRestores,
  type SharedLines,
} from "./render-restores.ts";
import { type IptablesBase, renderService } from "./render-service.ts";

const OWN_CHAIN = /^:(KUBE-(?:SVC|SVL|EXT|FW|SEP)-[A-Z2-7]{16}) /gm;
const SAVE_BYTES_MAX = 256 * 1024 * 1024;
/** Lets packets with loopback addresses leave through other interfaces, translated. */
const ROUTE_LOCALNET = "/proc/sys/net/ipv4/conf/all/route_localnet";
/** A chain that is made only to see what the kernel can do. */
const PROBE_CHAIN = "KUBE-PROXY-PROBE";
/** Seconds to wait for another program that holds the lock of iptables. */
const WAIT = ["-w", "5"];

/** What later syncs need to know of a Service. */
interface WrittenService {
  readonly shared: SharedLines;
  readonly chainNames: readonly string[];
}

export class IptablesWriter implements RuleWriter {
  readonly #family: IpFamily;
  readonly #program: "iptables" | "ip6tables";
  #matchesHairpin: boolean | undefined;
  /** What is in the kernel; undefined until the first sync and after a failure. */
  #written:
    | { readonly baseText: string; readonly services: Map<string, WrittenService> }
    | undefined;

  constructor(family: IpFamily) {
    this.#family = family;
    this.#program = family === "IPv4" ? "iptables" : "ip6tables";
  }

  async sync(
    { base: common, services }: RuleWorld,
    changed: ReadonlySet<string> | "all",
  ): Promise<void> {
    const last = this.#written;
    this.#matchesHairpin ??= await this.#canMatchHairpin();
    const base: IptablesBase = { ...common, matchesHairpin: this.#matchesHairpin };
    const baseText = JSON.stringify(base);
    const isWhole = last === undefined || changed === "all" || last.baseText !== baseText;
    const keys = isWhole ? services.keys() : [...changed];
    const known = isWhole ? new Map<string, WrittenService>() : last.services;
    const stale = new Set<string>(isWhole ? await this.#ownChains() : []);
    const own: OwnChains[] = [];
    let isSharedChanged = isWhole;
    this.#written = undefined;
    for (const key of keys) {
      const before = known.get(key);
      for (const name of before?.chainNames ?? []) stale.add(name);
      const ports = services.get(key);
      const { shared, chains } = renderService(base, ports);
      isSharedChanged ||= !isDeepStrictEqual(shared, before?.shared ?? new Map());
      if (ports.length === 0) known.delete(key);
      else known.set(key, { shared, chainNames: [...chains.keys()] });
      if (chains.size > 0) own.push(chains);
    }
    for (const chains of own) for (const name of chains.keys()) stale.delete(name);
    const shared = isSharedChanged ? [...known.values()].map((each) => each.shared) : undefined;
    for (const input of renderRestores({ base, own, shared, stale, isWhole })) {
      await this.#restore(input);
    }
    if (isWhole) for (const each of JUMPS) await this.#ensureJump(each);
    if (isWhole && base.localhostNodePorts) {
      // Where it cannot be set, node ports do not answer at loopback addresses; all others do.
      await writeFile(ROUTE_LOCALNET, "1").catch(() => undefined);
    }
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
    const names = { filter: FILTER_CHAINS, nat: [...NAT_CHAINS, ...(await this.#ownChains())] };
    for (const input of [
      ...renderRemoval("filter", names.filter),
      ...renderRemoval("nat", names.nat),
    ]) {
      await this.#restore(input);
    }
  }

  async #restore(input: string): Promise<void> {
    await mustRun(`${this.#program}-restore`, [...WAIT, "--noflush"], { input });
  }

  /** The match is a module of its own that a kernel may lack. */
  async #canMatchHairpin(): Promise<boolean> {
    const rule = `-A ${PROBE_CHAIN} ${sameAddresses(this.#family)} -j RETURN`;
    const made = await this.#restore(`*nat\n:${PROBE_CHAIN} - [0:0]\n${rule}\nCOMMIT\n`).then(
      () => true,
      () => false,
    );
    if (made) await this.#restore(`*nat\n:${PROBE_CHAIN} - [0:0]\n-X ${PROBE_CHAIN}\nCOMMIT\n`);
    return made;
  }

  /** Chains of Services in the kernel, also of earlier processes. */
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
