/**
 * A writer puts one family's rules into the kernel.
 *
 * Promises:
 * 1. Packets see a Service's old rules or its new ones, never a part. A small sync is one transaction.
 * 2. After a failed `sync` the next one writes everything again.
 * 3. `isIntact` is cheap and returns whether the rules that were last written are still there.
 * 4. `cleanup` removes everything that this kind of writer makes, also that of earlier processes.
 */
import type { IpFamily } from "#api/meta/ip-family.ts";
import type { ServiceRules } from "../rules/service-rules.ts";

export interface RuleWriter {
  sync(world: RuleWorld, changed: ReadonlySet<string> | "all"): Promise<void>;
  isIntact(): Promise<boolean>;
  cleanup(): Promise<void>;
}

export interface RuleWorld {
  readonly base: BaseRules;
  /** Names in `changed` that have no rules here are deleted. */
  readonly services: ServiceRules;
}

/** What holds for all Services of a family. A change of it rewrites everything. */
export interface BaseRules {
  readonly family: IpFamily;
  readonly masqueradeAll: boolean;
  /** Bit of the packet mark that asks for masquerading. */
  readonly masqueradeMark: number;
  /** Where pods of the cluster have their addresses; empty if not known. */
  readonly podNetworks: readonly string[];
  /**
   * The interface by which packets of this node's pods come in, or the beginning of its name and `*`. Takes
   * the place of `podNetworks`.
   */
  readonly podInterface?: string;
  /** The ranges of cluster IPs. Packets to unused addresses in them are dropped. */
  readonly serviceNetworks: readonly string[];
  /** Addresses of the node at which node ports answer. */
  readonly nodePortAddresses: readonly string[] | "all";
  /** Whether node ports answer at loopback addresses too, which only iptables with IPv4 can do. */
  readonly localhostNodePorts: boolean;
}
