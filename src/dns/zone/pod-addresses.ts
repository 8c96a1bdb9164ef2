/**
 * Which namespace a pod's address belongs to. Pods on the host's network share the node's address: they
 * are left out, and so are pods that have ended.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { parseIp } from "#api/validation/ip.ts";
import { MultiMap } from "./multi-map.ts";

export class PodAddresses {
  readonly #byPod = new Map<string, readonly string[]>();
  /** Namespaces by address. Two pods have one address for a moment when it is given to the next one. */
  readonly #namespaces = new MultiMap<string, string>();

  put(pod: Pod): void {
    this.remove(pod);
    const { spec, status, metadata } = pod;
    const isEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
    if (spec?.hostNetwork === true || isEnded) return;
    const addresses = (status?.podIPs ?? []).flatMap(({ ip }) => keyOf(ip ?? "") ?? []);
    if (addresses.length === 0) return;
    this.#byPod.set(podKey(pod), addresses);
    for (const address of addresses) this.#namespaces.add(address, metadata.namespace ?? "");
  }

  remove(pod: Pick<Pod, "metadata">): void {
    this.#remove(podKey(pod));
  }

  /** Pods whose keys (`namespace/name`) are not among these are gone. */
  retain(current: ReadonlySet<string>): void {
    for (const key of this.#byPod.keys()) if (!current.has(key)) this.#remove(key);
  }

  /** Undefined unless exactly one namespace has the address. */
  namespaceOf(ip: string): string | undefined {
    const namespaces = new Set(this.#namespaces.get(keyOf(ip) ?? ""));
    return namespaces.size === 1 ? [...namespaces][0] : undefined;
  }

  has(namespace: string, address: readonly number[]): boolean {
    return this.#namespaces.get(String(address)).includes(namespace);
  }

  #remove(key: string): void {
    const namespace = key.slice(0, key.indexOf("/"));
    for (const address of this.#byPod.get(key) ?? []) this.#namespaces.remove(address, namespace);
    this.#byPod.delete(key);
  }
}

function keyOf(ip: string): string | undefined {
  const parsed = parseIp(ip);
  return parsed === undefined ? undefined : String([...parsed.bytes]);
}

function podKey({ metadata }: Pick<Pod, "metadata">): string {
  return `${metadata.namespace}/${metadata.name}`;
}
