/**
 * How pods reach the API server: the Service `kubernetes` in the namespace `default`, with the
 * addresses of all API servers that are alive.
 *
 * A server on a store of its own is alone and writes its address once. On a shared store each
 * announces its address under a key that dies with it, and all write the same list.
 */

import type { Endpoints, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ServiceCIDR } from "#api/generated/networking.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { addressAt, addressRange } from "#api/meta/address-range.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { isIpv6, parseCidr } from "#api/validation/ip.ts";
import { runEvery } from "#lib/async/sleep.ts";
import { isLoopback } from "#lib/loopback.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Store } from "#store/contract.ts";
import type { Loopback } from "./loopback.ts";

const LEASES = "/registry/masterleases/";
const LEASE_SECONDS = 15;
const RENEW_MS = 10_000;
const WITHDRAW_MAX_MS = 2_000;
const PLACE = { name: "kubernetes", namespace: "default" };

export interface KubernetesServiceOptions {
  readonly loopback: Loopback;
  readonly store: Store;
  readonly shared: boolean;
  readonly clock: Clock;
  readonly advertiseAddress: string;
  readonly port: number;
  readonly serviceRanges: readonly string[];
}

/** Returns what went wrong. */
export async function ensureKubernetesService(
  options: KubernetesServiceOptions,
): Promise<string[]> {
  const { loopback, port } = options;
  const faults: string[] = [];
  const note = (result: { ok: boolean; status?: { message?: string } }): void => {
    if (!result.ok) faults.push(result.status?.message ?? "");
  };
  note(await ensureRange(options));
  const [range = ""] = options.serviceRanges;
  note(
    await loopback.ensure(serviceKind, serviceOf(firstAddress(range), port), (draft) => {
      draft.spec.ports = [portOf(port)];
    }),
  );
  faults.push(...(await writeEndpoints(options, await liveAddresses(options))));
  return faults;
}

/**
 * On a shared store: keeps this server's address in the list while it is alive. A server that ends calls
 * `withdraw` while it can still write, so that no client is sent to it.
 */
export class Announcement {
  readonly #ending = new AbortController();
  #options: KubernetesServiceOptions | undefined;
  #running: Promise<void> = Promise.resolve();

  /** Lives until the signal aborts or the announcement is withdrawn. */
  run(options: KubernetesServiceOptions, signal: AbortSignal): Promise<void> {
    if (!options.shared || this.#ending.signal.aborted) return Promise.resolve();
    this.#options = options;
    this.#running = announceUntil(options, AbortSignal.any([signal, this.#ending.signal]));
    return this.#running;
  }

  /** Removes the address from the list. Gives up after a time: its key dies without it, too. */
  async withdraw(): Promise<void> {
    this.#ending.abort();
    const options = this.#options;
    if (options === undefined) return;
    const { store, clock, advertiseAddress } = options;
    const leave = async (): Promise<void> => {
      await this.#running;
      await store.delete(LEASES + advertiseAddress);
      const addresses = await liveAddresses(options);
      await writeEndpoints(
        options,
        addresses.filter((address) => address !== advertiseAddress),
      );
    };
    const given = new AbortController();
    const limit = clock.sleep(WITHDRAW_MAX_MS, given.signal);
    await Promise.race([leave(), limit]).catch(() => undefined);
    given.abort();
    await limit.catch(() => undefined);
  }
}

async function announceUntil(
  options: KubernetesServiceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, advertiseAddress } = options;
  let known = "";
  const announce = async (): Promise<void> => {
    const value = Buffer.from(JSON.stringify(endpointsOf([advertiseAddress], options.port)));
    await store.put(LEASES + advertiseAddress, value, { ttlSeconds: LEASE_SECONDS });
    const addresses = await liveAddresses(options);
    if (addresses.join() === known) return;
    await writeEndpoints(options, addresses);
    known = addresses.join();
  };
  await announce().catch(() => undefined);
  await runEvery(clock, RENEW_MS, () => announce().catch(() => undefined), signal);
}

/** A machine with nothing but loopback has no address that a pod could use. */
async function liveAddresses({ store, shared, advertiseAddress }: KubernetesServiceOptions) {
  const own = isLoopback(advertiseAddress) ? [] : [advertiseAddress];
  if (!shared) return own;
  const { entries } = await store.range(LEASES);
  // Another server may have announced one: endpoints cannot have it, and must not wait for that.
  const addresses = entries
    .map(({ key }) => key.slice(LEASES.length))
    .filter((address) => !isLoopback(address));
  return [...new Set([...addresses, ...own])].sort();
}

async function writeEndpoints(
  { loopback, port }: KubernetesServiceOptions,
  addresses: readonly string[],
): Promise<string[]> {
  const endpoints = endpointsOf(addresses, port);
  const slice = sliceOf(addresses, port);
  const written = await Promise.all([
    loopback.ensure(endpointsKind, endpoints, (draft) => {
      draft.subsets = structuredClone(endpoints.subsets) as typeof draft.subsets & object;
      draft.metadata.labels = { ...draft.metadata.labels, ...endpoints.metadata?.labels };
    }),
    loopback.ensure(endpointSliceKind, slice, (draft) => {
      draft.endpoints = structuredClone(slice.endpoints) as typeof draft.endpoints;
      draft.ports = structuredClone(slice.ports) as typeof draft.ports & object;
    }),
  ]);
  return written.flatMap((one) => (one.ok ? [] : [one.status.message ?? ""]));
}

async function ensureRange({ loopback, serviceRanges, clock }: KubernetesServiceOptions) {
  const range: ServiceCIDR = {
    kind: "ServiceCIDR",
    apiVersion: "networking.k8s.io/v1",
    metadata: {
      name: "kubernetes",
      finalizers: ["networking.k8s.io/service-cidr-finalizer"],
    },
    spec: { cidrs: [...serviceRanges] },
    status: {},
  };
  const ensured = await loopback.ensure(serviceCidrKind, range);
  if (!ensured.ok || ensured.value.status?.conditions?.length) return ensured;
  return await loopback.updateStatus(serviceCidrKind, {
    ...ensured.value,
    status: {
      conditions: [
        {
          type: "Ready",
          status: "True",
          lastTransitionTime: timeFromMs(clock.nowMs()),
          reason: "",
          message: "Kubernetes Service CIDR is ready",
        },
      ],
    },
  });
}

export function firstAddress(range: string): string {
  const cidr = parseCidr(range);
  return cidr === undefined ? "" : addressAt(addressRange(cidr, range), 0);
}

function serviceOf(clusterIP: string, targetPort: number): Service {
  return {
    kind: "Service",
    apiVersion: "v1",
    metadata: { ...PLACE, labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      ports: [portOf(targetPort)],
      clusterIP,
      ipFamilyPolicy: "SingleStack",
      sessionAffinity: "None",
      type: "ClusterIP",
    },
    status: { loadBalancer: {} },
  };
}

function portOf(targetPort: number) {
  return { name: "https", protocol: "TCP", port: 443, targetPort };
}

function endpointsOf(addresses: readonly string[], port: number): Endpoints {
  return {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: { ...PLACE, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets:
      addresses.length === 0
        ? []
        : [
            {
              addresses: addresses.map((ip) => ({ ip })),
              ports: [{ name: "https", port, protocol: "TCP" }],
            },
          ],
  };
}

function sliceOf(addresses: readonly string[], port: number): EndpointSlice {
  return {
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    metadata: { ...PLACE, labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: isIpv6(addresses[0] ?? "") ? "IPv6" : "IPv4",
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true },
    })),
    ports: [{ name: "https", protocol: "TCP", port }],
  };
}
