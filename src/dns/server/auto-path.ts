/**
 * Walks the search list of a pod for it, as CoreDNS's plugin autopath: the question for the first entry
 * of the list (NAME.NAMESPACE.svc.DOMAIN) is answered with what the first entry that has the name says,
 * so that the pod's resolver does not ask for one entry after the other.
 */
import type { KubernetesConfig } from "../config/dns-config.ts";
import type { PodAddresses } from "../zone/pod-addresses.ts";

export interface AutoPathQuestion {
  readonly name: string;
  readonly type: string;
  /** The address that the question came from. */
  readonly client: string;
  readonly domain: string;
  readonly kubernetes: KubernetesConfig;
  /** Search list of the machine, which pods have at the end of theirs. */
  readonly machineSearch: readonly string[];
}

/** The names that come after the one asked for; none if this is no question for the first entry. */
export function searchedNames(question: AutoPathQuestion, pods: PodAddresses): readonly string[] {
  const { name, type, client, domain, machineSearch } = question;
  if (type !== "A" && type !== "AAAA") return [];
  if (question.kubernetes.pods !== "verified") return [];
  const namespace = pods.namespaceOf(client);
  if (namespace === undefined) return [];
  const first = `.${namespace}.svc.${domain}`;
  if (!name.endsWith(first)) return [];
  const base = name.slice(0, -first.length);
  return [
    `${base}.svc.${domain}`,
    `${base}.${domain}`,
    ...machineSearch.map((s) => `${base}.${s}`),
    base,
  ];
}
