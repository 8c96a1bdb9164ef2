/**
 * The inputs of `iptables-restore` that bring the rules up to date, in order. A small change is one
 * input, so one transaction. A large one is cut, because the time of iptables 1.8 on nf_tables grows
 * with the square of the chains in one input (5,000 Services of 10 endpoints: 2.6 s of processor time
 * with 1,000 chains in each, 2.1 s with 250).
 *
 * Promises:
 * 1. The chains of one Service are in one input: packets see its old rules or its new ones.
 * 2. Shared chains lead to a new chain after it was written, and away from a stale one before it goes.
 */
import { FILTER_CHAINS, filterTail, markRules, NAT_CHAINS, natTail } from "./render-base.ts";
import {
  type IptablesBase,
  type IptablesLines,
  MARK_MASQUERADE,
  MARK_OUTSIDE,
  type SharedChain,
} from "./render-service.ts";

/** The chains of one Service, and their rules. */
export type OwnChains = IptablesLines["chains"];
export type SharedLines = IptablesLines["shared"];

export interface RuleChange {
  readonly base: IptablesBase;
  readonly own: readonly OwnChains[];
  /** Undefined if no rule in them changed. */
  readonly shared: readonly SharedLines[] | undefined;
  readonly stale: ReadonlySet<string>;
  /** Whether this may be the first write: the chains of marks may not exist yet. */
  readonly isWhole: boolean;
}

/** Chains in one input. */
const INPUT_CHAINS_MAX = 250;

export function renderRestores(change: RuleChange): string[] {
  const chainCount = change.own.reduce((sum, { size }) => sum + size, change.stale.size);
  if (chainCount === 0 && change.shared === undefined) return [];
  return chainCount <= INPUT_CHAINS_MAX ? [renderSmall(change)] : renderLarge(change);
}

function renderSmall({ base, own, shared, stale }: RuleChange): string {
  const names = own.flatMap((chains) => [...chains.keys()]);
  const lines = shared === undefined ? undefined : renderShared(base, shared);
  const nat = table("nat", [
    ...(lines === undefined ? [] : declare(NAT_CHAINS)),
    ...declare([...names, ...stale]),
    ...(lines?.nat ?? []),
    ...own.flatMap(rulesOf),
    ...[...stale].map((name) => `-X ${name}`),
  ]);
  return lines === undefined ? nat : table("filter", lines.filter) + nat;
}

function renderLarge({ base, own, shared, stale, isWhole }: RuleChange): string[] {
  const inputs: string[] = [];
  if (isWhole) {
    const marks = declare([MARK_MASQUERADE, MARK_OUTSIDE]);
    inputs.push(table("nat", [...marks, ...markRules(base)]));
  }
  for (const group of groupsOf(own, ({ size }) => size)) {
    const names = group.flatMap((chains) => [...chains.keys()]);
    inputs.push(table("nat", [...declare(names), ...group.flatMap(rulesOf)]));
  }
  if (shared !== undefined) {
    const { filter, nat } = renderShared(base, shared);
    inputs.push(table("filter", filter) + table("nat", [...declare(NAT_CHAINS), ...nat]));
  }
  return [...inputs, ...renderRemoval("nat", [...stale])];
}

/** Empties all chains before it removes the first one, because they may lead to each other. */
export function renderRemoval(of: "filter" | "nat", names: readonly string[]): string[] {
  const groups = groupsOf(names, () => 1);
  if (groups.length === 1) {
    return [table(of, [...declare(names), ...names.map((name) => `-X ${name}`)])];
  }
  return [
    ...groups.map((group) => table(of, declare(group))),
    ...groups.map((group) =>
      table(
        of,
        group.map((name) => `-X ${name}`),
      ),
    ),
  ];
}

function renderShared(
  base: IptablesBase,
  services: readonly SharedLines[],
): { readonly filter: string[]; readonly nat: string[] } {
  const rules = (of: SharedChain): string[] => {
    const [, chain] = of.split(" ");
    return services.flatMap((lines) => (lines.get(of) ?? []).map((rule) => `-A ${chain} ${rule}`));
  };
  return {
    filter: [
      ...declare(FILTER_CHAINS),
      ...rules("filter KUBE-SERVICES"),
      ...rules("filter KUBE-EXTERNAL-SERVICES"),
      ...rules("filter KUBE-PROXY-FIREWALL"),
      ...filterTail(base),
    ],
    nat: [...rules("nat KUBE-SERVICES"), ...rules("nat KUBE-NODEPORTS"), ...natTail(base)],
  };
}

function table(name: "filter" | "nat", lines: readonly string[]): string {
  return `*${name}\n${lines.join("\n")}\nCOMMIT\n`;
}

function declare(names: Iterable<string>): string[] {
  return [...names].map((name) => `:${name} - [0:0]`);
}

function rulesOf(chains: OwnChains): string[] {
  return [...chains].flatMap(([name, rules]) => rules.map((rule) => `-A ${name} ${rule}`));
}

/** Groups of neighbours of at most INPUT_CHAINS_MAX chains; a larger item is a group of its own. */
function groupsOf<T>(items: readonly T[], sizeOf: (item: T) => number): T[][] {
  const groups: T[][] = [];
  let room = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (size > room || groups.length === 0) {
      groups.push([]);
      room = INPUT_CHAINS_MAX;
    }
    groups.at(-1)!.push(item);
    room -= size;
  }
  return groups;
}
