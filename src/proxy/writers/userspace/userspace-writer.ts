/**
 * The historic mode: connections are redirected to the proxy itself, which joins them with connections
 * to endpoints. Endpoints see the node's address. SCTP is left out, as it was upstream.
 */
import type { IpFamily } from "#api/meta/ip-family.ts";
import { mustRun, runProgram } from "#host/run-program.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Policy, ServicePortRules } from "../../rules/service-rules.ts";
import { ipWord } from "../nftables/render-base.ts";
import type { RuleWorld, RuleWriter } from "../writer.ts";
import { Balancer } from "./balancer.ts";
import { type Redirect, renderRedirects, TABLE } from "./render-redirects.ts";
import { startTcpForwarder } from "./tcp-forwarder.ts";
import { startUdpForwarder } from "./udp-forwarder.ts";

interface Forwarder {
  readonly balancer: Balancer;
  readonly port: number;
  readonly life: AbortController;
}

export class UserspaceWriter implements RuleWriter {
  readonly #family: IpFamily;
  readonly #clock: Clock;
  /** By Service port and traffic policy. */
  readonly #forwarders = new Map<string, Forwarder>();
  #written: string | undefined;

  constructor(family: IpFamily, clock: Clock) {
    this.#family = family;
    this.#clock = clock;
  }

  async sync({ base, services }: RuleWorld, changed: ReadonlySet<string> | "all"): Promise<void> {
    const used = new Set<string>();
    const redirects: Redirect[] = [];
    for (const rules of services.keys().flatMap((key) => services.get(key))) {
      if (rules.protocol === "sctp") continue;
      const { internal, external } = rules;
      redirects.push({
        rules,
        internalPort: await this.#portOf(rules, internal.policy, used),
        externalPort:
          external === undefined ? undefined : await this.#portOf(rules, external.policy, used),
      });
    }
    const text = renderRedirects(base, redirects);
    if (changed === "all" || text !== this.#written) {
      this.#written = undefined;
      await mustRun("nft", ["-f", "-"], { input: `${text}\n` });
      this.#written = text;
    }
    for (const [key, { life }] of this.#forwarders) {
      if (used.has(key)) continue;
      life.abort();
      this.#forwarders.delete(key);
    }
  }

  async isIntact(): Promise<boolean> {
    const args = ["list", "chain", ipWord(this.#family), TABLE, "services"];
    const { exitCode, stdout } = await runProgram("nft", args, { outputBytesMax: 65_536 });
    return exitCode === 0 && stdout.includes("@service-ports");
  }

  async cleanup(): Promise<void> {
    for (const { life } of this.#forwarders.values()) life.abort();
    this.#forwarders.clear();
    this.#written = undefined;
    const table = `${ipWord(this.#family)} ${TABLE}`;
    const input = `add table ${table}\ndelete table ${table}\n`;
    await mustRun("nft", ["-f", "-"], { input });
  }

  /** Where the traffic of a Service port is taken; a listener is made for its first endpoint. */
  async #portOf(
    rules: ServicePortRules,
    policy: Policy,
    used: Set<string>,
  ): Promise<number | undefined> {
    const endpoints = rules[policy];
    if (endpoints.length === 0) return undefined;
    const key = `${rules.id} ${policy}`;
    used.add(key);
    const known = this.#forwarders.get(key);
    if (known !== undefined) {
      known.balancer.update(endpoints, rules.affinitySeconds);
      return known.port;
    }
    const balancer = new Balancer();
    balancer.update(endpoints, rules.affinitySeconds);
    const life = new AbortController();
    const start = rules.protocol === "udp" ? startUdpForwarder : startTcpForwarder;
    const options = { family: this.#family, balancer, clock: this.#clock };
    const port = await start(options, life.signal);
    this.#forwarders.set(key, { balancer, port, life });
    return port;
  }
}
