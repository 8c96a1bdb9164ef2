/**
 * Checks that of two managers, or two schedulers, only the holder of the lease acts: every write that one
 * of them made has a revision at which that one held the lease. Revisions are compared, not times, so
 * clocks do not matter. Where the API server takes an audit log, it has the writes.
 */
import { groupedBy } from "./grouped-by.ts";
import type { BoundPod, LeaseRecord } from "./history.ts";

/** A write of a component that has to hold a lease for it. */
export interface Act {
  readonly lease: string;
  /** Machine that sent it. */
  readonly machine: string;
  readonly revision: number;
  readonly what: string;
}

/**
 * Violations, as sentences. Holders are named `machine_…`. Writes before the first record of a lease are not
 * judged: managers work already when the recording begins.
 */
export function checkLeaders(leases: readonly LeaseRecord[], acts: readonly Act[]): string[] {
  const byName = groupedBy(leases, ({ name }) => name);
  return acts.flatMap(({ lease, machine, revision, what }) => {
    const holder = (byName.get(lease) ?? [])
      .filter((one) => one.revision < revision)
      .reduce<LeaseRecord | undefined>(
        (last, one) => (last === undefined || one.revision > last.revision ? one : last),
        undefined,
      );
    if (holder === undefined || holder.holder.startsWith(`${machine}_`)) return [];
    const owner = holder.holder === "" ? "no machine" : holder.holder;
    return [`${machine} wrote ${what} at ${revision}, when ${owner} held ${lease}`];
  });
}

/** A machine whose program may only write while it holds a lease. */
export interface Elected {
  readonly machine: string;
  readonly lease: string;
}

/**
 * Writes of managers and schedulers, given by their addresses, in an audit log. Leases and Events are no acts
 * of a leader. The answer to a Binding has no revision: it is that of the pod when it got its node.
 */
export function actsOf(
  auditLog: string,
  elected: ReadonlyMap<string, Elected>,
  bound: readonly BoundPod[],
): Act[] {
  const boundAt = new Map(bound.map(({ pod, revision }) => [pod, revision]));
  return auditLog.split("\n").flatMap((line) => {
    const event = parsed(line);
    const sender = elected.get(event?.sourceIPs?.[0] ?? "");
    const code = event?.responseStatus?.code ?? 0;
    const { resource, subresource = "", namespace = "", name = "" } = event?.objectRef ?? {};
    const answered = Number(event?.responseObject?.metadata?.resourceVersion);
    const revision = subresource === "binding" ? (boundAt.get(name) ?? 0) : answered;
    if (sender === undefined || code >= 300 || !(revision > 0)) return [];
    if (resource === "leases" || resource === "events") return [];
    const what = `${event?.verb} ${resource}/${subresource} ${namespace}/${name}`;
    return [{ ...sender, revision, what }];
  });
}

interface AuditEvent {
  readonly verb?: string;
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: Readonly<
    Partial<Record<"resource" | "subresource" | "namespace" | "name", string>>
  >;
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: { readonly metadata?: { readonly resourceVersion?: string } };
}

/** The last line of a log whose server was killed may be cut. */
function parsed(line: string): AuditEvent | undefined {
  try {
    return JSON.parse(line) as AuditEvent;
  } catch {
    return undefined;
  }
}
