/** The resolver settings of a pod: dnsPolicy, dnsConfig and those of the machine. */
import type { Pod } from "#api/generated/core.v1.ts";

export interface ResolverSettings {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface ClusterDns {
  readonly servers: readonly string[];
  readonly domain: string;
}

const SERVERS_MAX = 3;
const SEARCHES_MAX = 32;
const SEARCH_CHARS_MAX = 2048;
const SEARCH_LENGTH_MAX = 253;

export interface PodDns {
  readonly settings: ResolverSettings;
  /** What was left out, as the messages of DNSConfigForming events. */
  readonly warnings: readonly string[];
}

export function decidePodDns(pod: Pod, host: ResolverSettings, cluster: ClusterDns): PodDns {
  const { dnsConfig, dnsPolicy = "ClusterFirst", hostNetwork = false } = pod.spec;
  const isCluster =
    dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork);
  let settings = host;
  if (dnsPolicy === "None") settings = { servers: [], searches: [], options: [] };
  else if (isCluster && cluster.servers.length > 0) {
    const namespace = pod.metadata.namespace ?? "";
    const { domain } = cluster;
    const own = domain === "" ? [] : [`${namespace}.svc.${domain}`, `svc.${domain}`, domain];
    const searches = unique([...own, ...host.searches]);
    settings = { servers: cluster.servers, searches, options: ["ndots:5"] };
  }
  if (dnsConfig !== undefined) {
    settings = {
      servers: unique([...settings.servers, ...(dnsConfig.nameservers ?? [])]),
      searches: unique([...settings.searches, ...(dnsConfig.searches ?? [])]),
      options: mergeOptions(settings.options, dnsConfig.options ?? []),
    };
  }
  return withinLimits(settings);
}

/** The lines of resolv.conf that count; later `search` lines replace earlier ones. */
export function parseResolvConf(text: string): ResolverSettings {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split("\n")) {
    const [word = "", ...rest] = line.trim().split(/\s+/);
    if (word === "nameserver" && rest[0] !== undefined) servers.push(rest[0]);
    else if (word === "search") {
      searches = rest.filter((name) => name !== ".").map((name) => name.replace(/\.$/, ""));
    } else if (word === "options") {
      options = mergeOptions(
        options,
        rest.map((option) => splitOption(option)),
      );
    }
  }
  return { servers, searches, options };
}

function withinLimits({ servers, searches, options }: ResolverSettings): PodDns {
  const warnings: string[] = [];
  let keptServers = servers;
  if (servers.length > SERVERS_MAX) {
    keptServers = servers.slice(0, SERVERS_MAX);
    warnings.push(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${keptServers.join(" ")}`,
    );
  }
  const kept = searches.slice(0, SEARCHES_MAX).filter((name) => name.length <= SEARCH_LENGTH_MAX);
  while (kept.join(" ").length > SEARCH_CHARS_MAX) kept.pop();
  if (kept.length < searches.length) {
    warnings.push(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${kept.join(" ")}`,
    );
  }
  return { settings: { servers: keptServers, searches: kept, options }, warnings };
}

function mergeOptions(
  options: readonly string[],
  more: readonly { readonly name?: string; readonly value?: string }[],
): string[] {
  const merged = new Map<string, string>();
  for (const option of options.map(splitOption)) merged.set(option.name, option.value ?? "");
  for (const { name = "", value = "" } of more) merged.set(name, value);
  return [...merged].map(([name, value]) => (value === "" ? name : `${name}:${value}`));
}

function splitOption(option: string): { name: string; value?: string } {
  const at = option.indexOf(":");
  return at < 0 ? { name: option } : { name: option.slice(0, at), value: option.slice(at + 1) };
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
