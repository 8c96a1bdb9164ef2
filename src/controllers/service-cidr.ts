/**
 * Ranges of Services' addresses are ready once they are known, and are kept until no Service has an
 * address that no other range holds.
 */
import type { IPAddress, ServiceCIDR } from "#api/generated/networking.v1.ts";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { addressSpan, type CidrSpan, cidrSpan, spanContains } from "#api/validation/cidr-span.ts";
import {
  because,
  type Caches,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  recheckIn,
} from "#runtime/controller.ts";
import { update, updateStatus } from "#runtime/writes.ts";

const FINALIZER = "networking.k8s.io/service-cidr-finalizer";
const MANAGED_BY = "ipaddress.kubernetes.io/managed-by";
const ALLOCATOR = "ipallocator.k8s.io";
/** Time for other API servers to notice that the range is terminating before it is deleted. */
const DELETION_GRACE_MS = 10_000;

interface State {
  readonly range: ServiceCIDR;
  readonly others: readonly ServiceCIDR[];
  readonly addresses: readonly IPAddress[];
}

export const serviceCidrController = defineController<State | undefined>({
  name: "service-cidr-controller",
  rule: "a ServiceCIDR is protected while IPAddresses depend on it, and Ready says whether it is in use",
  feeds: [
    { kind: serviceCidrKind, keys: (range: ServiceCIDR, caches) => overlapping(range, caches) },
    { kind: ipAddressKind, keys: (address: IPAddress, caches) => containing(address, caches) },
  ],
  observe: (caches, { name }) => {
    const range = caches(serviceCidrKind).get(undefined, name);
    if (range === undefined) return undefined;
    const others = [...caches(serviceCidrKind).list()].filter((other) => other !== range);
    // Only a range that is going asks for addresses.
    const isGoing = range.metadata.deletionTimestamp !== undefined;
    const addresses = isGoing ? [...caches(ipAddressKind).list()].filter(isAllocated) : [];
    return { range, others, addresses };
  },
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function overlapping(range: ServiceCIDR, caches: Caches): readonly Key[] {
  const spans = spansOf(range);
  const others = [...caches(serviceCidrKind).list()].filter((other) =>
    spansOf(other).some((a) => spans.some((b) => spanContains(a, b) || spanContains(b, a))),
  );
  return [...ownKey(range), ...others.flatMap(ownKey)];
}

function containing(address: IPAddress, caches: Caches): readonly Key[] {
  if (!isAllocated(address)) return [];
  return [...caches(serviceCidrKind).list()]
    .filter((range) => holds(range, addressSpan(address.metadata.name ?? "")))
    .flatMap(ownKey);
}

function isAllocated({ metadata }: IPAddress): boolean {
  return metadata.labels?.[MANAGED_BY] === ALLOCATOR;
}

function decide(state: State, nowMs: number): Outcome {
  const { range } = state;
  const { deletionTimestamp, finalizers = [] } = range.metadata;
  if (deletionTimestamp === undefined || deletionTimestamp === null) {
    if (!finalizers.includes(FINALIZER)) {
      const rule = "a ServiceCIDR in use is protected by a finalizer";
      return because(rule, withFinalizers(range, [...finalizers, FINALIZER]));
    }
    const ready = withReady(range, "True", "", "Kubernetes Service CIDR is ready", nowMs);
    return because("a ServiceCIDR is Ready once it is protected", ready);
  }
  if (isNeeded(state)) {
    const message =
      "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";
    const rule = "IPAddresses still depend on the ServiceCIDR";
    return because(rule, withReady(range, "False", "Terminating", message, nowMs));
  }
  const waitMs = timeToMs(deletionTimestamp) + DELETION_GRACE_MS - nowMs;
  if (waitMs > 0) return recheckIn(waitMs);
  if (!finalizers.includes(FINALIZER)) return idle;
  const left = finalizers.filter((finalizer) => finalizer !== FINALIZER);
  return because("no IPAddress depends on the ServiceCIDR", withFinalizers(range, left));
}

/** Whether a Service would be left with an address of no range. */
function isNeeded({ range, others, addresses }: State): boolean {
  const isCovered = spansOf(range).every((span) => others.some((other) => holds(other, span)));
  if (isCovered) return false;
  return addresses.some(({ metadata }) => {
    const span = addressSpan(metadata.name ?? "");
    return holds(range, span) && !others.some((other) => holds(other, span));
  });
}

function holds(range: ServiceCIDR, span: CidrSpan | undefined): boolean {
  return span !== undefined && spansOf(range).some((outer) => spanContains(outer, span));
}

function spansOf({ spec }: ServiceCIDR): readonly CidrSpan[] {
  return (spec.cidrs ?? []).flatMap((cidr) => cidrSpan(cidr) ?? []);
}

function withFinalizers(range: ServiceCIDR, finalizers: readonly string[]): Outcome {
  const metadata = { ...range.metadata, finalizers };
  return { writes: [update(serviceCidrKind, { ...range, metadata })] };
}

function withReady(
  range: ServiceCIDR,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
): Outcome {
  const conditions = range.status.conditions ?? [];
  const old = conditions.find(({ type }) => type === "Ready");
  if (old?.status === status && old.reason === reason && old.message === message) return idle;
  const lastTransitionTime = timeFromMs(nowMs);
  const next = { type: "Ready", status, reason, message, lastTransitionTime };
  const object: ServiceCIDR = {
    ...range,
    status: { ...range.status, conditions: [...conditions.filter((c) => c !== old), next] },
  };
  return {
    writes: [
      {
        ...updateStatus(serviceCidrKind, object),
        onRefused: {
          about: range,
          type: "Warning",
          reason: "KubernetesServiceCIDRError",
          message: `The ServiceCIDR Status can not be set to Ready=${status}`,
        },
      },
    ],
  };
}
