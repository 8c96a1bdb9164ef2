/**
 * What the directives of a Corefile mean here. Plugins that only observe or that are always on are read
 * over; what would change answers and is not there is refused, with its line.
 */
import {
  nameServersIn,
  parseUpstream,
  searchListIn,
  UPSTREAMS_MAX,
  type Upstream,
} from "../forward/resolv-conf.ts";
import {
  CorefileError,
  type Directive,
  nameOf,
  parseCorefile,
  type ServerBlock,
} from "./corefile.ts";
import type {
  BlockConfig,
  CacheConfig,
  DnsConfig,
  ForwardConfig,
  HostsConfig,
  KubernetesConfig,
} from "./dns-config.ts";
import { HostsTable, hostsLines } from "./hosts-table.ts";
import { parseRewrite, type RewriteRule } from "./rewrite-rule.ts";

export interface ConfigSurroundings {
  readonly clusterDomain: string;
  /** The text of a file that the Corefile names; throws if it may not or cannot be read. */
  readFile(path: string): string;
}

/** They serve pages that flags serve here, or describe what is always so. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...["errors", "health", "ready", "prometheus", "loop", "reload", "loadbalance", "bind", "debug"],
  ...["bufsize", "whoami", "pprof", "minimal", "nsid", "chaos"],
]);
const CACHE_TTL_DEFAULT = 3600;
const HOSTS_TTL_DEFAULT = 3600;

/** Throws CorefileError. */
export function readConfig(text: string, surroundings: ConfigSurroundings): DnsConfig {
  return { blocks: parseCorefile(text).map((block) => readBlock(block, surroundings)) };
}

function readBlock(block: ServerBlock, surroundings: ConfigSurroundings): BlockConfig {
  const rewrites: RewriteRule[] = [];
  const forwards: ForwardConfig[] = [];
  let hosts: HostsConfig | undefined;
  let kubernetes: KubernetesConfig | undefined;
  let cache: CacheConfig | undefined;
  let autoPath: BlockConfig["autoPath"];
  let isLogged = false;
  for (const directive of block.directives) {
    const { name, line } = directive;
    if (WITHOUT_EFFECT.has(name)) continue;
    if (name === "log") isLogged = true;
    else if (name === "cache") cache = readCache(directive);
    else if (name === "hosts") hosts = readHosts(directive, surroundings);
    else if (name === "kubernetes") kubernetes = readKubernetes(directive, surroundings);
    else if (name === "forward") forwards.push(readForward(directive, surroundings));
    else if (name === "autopath") autoPath = readAutoPath(directive, surroundings);
    else if (name === "rewrite") rewrites.push(...readRewrites(directive));
    else throw new CorefileError(line, `Unknown directive '${name}'`);
  }
  if (autoPath !== undefined && kubernetes?.pods !== "verified") {
    const line = block.directives.find(({ name }) => name === "autopath")?.line ?? 0;
    throw new CorefileError(line, "autopath @kubernetes needs kubernetes with pods verified");
  }
  return { zones: block.zones, rewrites, forwards, hosts, kubernetes, cache, isLogged, autoPath };
}

/** Pods have the search list of their machine after the cluster's domains. */
function readAutoPath(
  { args, line }: Directive,
  { readFile }: ConfigSurroundings,
): BlockConfig["autoPath"] {
  if (args.at(-1) !== "@kubernetes") {
    throw new CorefileError(line, `autopath ${args.join(" ")}: only @kubernetes is supported`);
  }
  return { machineSearch: searchListIn(fileText("/etc/resolv.conf", line, readFile)) };
}

function readKubernetes(directive: Directive, surroundings: ConfigSurroundings): KubernetesConfig {
  const { args, lines, line } = directive;
  const domains = args.map(nameOf).filter((zone) => !zone.endsWith(".arpa"));
  const other = domains.find((zone) => zone !== surroundings.clusterDomain);
  if (other !== undefined) {
    const domain = surroundings.clusterDomain;
    throw new CorefileError(line, `kubernetes ${other}: the cluster's domain is ${domain}`);
  }
  let pods: KubernetesConfig["pods"] = "disabled";
  let ttlSeconds: number | undefined;
  for (const { words, line } of lines) {
    const [option = "", value = ""] = words;
    if (option === "pods") {
      if (value !== "disabled" && value !== "insecure" && value !== "verified") {
        throw new CorefileError(
          line,
          `wrong value for pods: ${value},  must be one of: disabled, verified, insecure`,
        );
      }
      pods = value;
    } else if (option === "ttl") ttlSeconds = wholeNumber(value, 0, 3600, line);
    else if (option !== "fallthrough" && option !== "endpoint_pod_names") {
      throw new CorefileError(line, `unknown property '${option}'`);
    } else if (option === "endpoint_pod_names") {
      throw new CorefileError(line, "endpoint_pod_names is not supported");
    }
  }
  return { pods, ttlSeconds };
}

function readForward(directive: Directive, surroundings: ConfigSurroundings): ForwardConfig {
  const { args, lines, line } = directive;
  const [from, ...to] = args;
  if (from === undefined || to.length === 0) throw new CorefileError(line, WRONG_COUNT);
  const upstreams = to.flatMap((word) => upstreamsOf(word, line, surroundings));
  if (upstreams.length > UPSTREAMS_MAX) {
    const count = upstreams.length;
    throw new CorefileError(line, `more than ${UPSTREAMS_MAX} TOs configured: ${count}`);
  }
  const except: string[] = [];
  let policy: ForwardConfig["policy"] = "random";
  let concurrentMax: number | undefined;
  for (const { words, line } of lines) {
    const [option = "", ...values] = words;
    if (option === "except") except.push(...values.map(nameOf));
    else if (option === "policy") policy = policyOf(values[0] ?? "", line);
    else if (option === "max_concurrent") {
      concurrentMax = wholeNumber(values[0] ?? "", 0, 1_000_000, line) || undefined;
    } else if (!FORWARD_WITHOUT_EFFECT.has(option)) {
      throw new CorefileError(line, `unknown property '${option}'`);
    }
  }
  return { from: nameOf(from), except, upstreams, policy, concurrentMax };
}

const WRONG_COUNT = "Wrong argument count or unexpected line ending after 'forward'";
const FORWARD_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...["expire", "max_fails", "health_check", "prefer_udp", "max_idle_conns", "max_age"],
  ...["failfast_all_unhealthy_upstreams"],
]);

function policyOf(text: string, line: number): ForwardConfig["policy"] {
  // Taking turns and choosing at random both share the load evenly.
  if (text === "random" || text === "round_robin") return "random";
  if (text === "sequential") return text;
  throw new CorefileError(line, `unknown policy '${text}'`);
}

function upstreamsOf(word: string, line: number, { readFile }: ConfigSurroundings): Upstream[] {
  const plain = word.replace(/^dns:\/\//, "");
  const upstream = parseUpstream(plain);
  if (upstream !== undefined) return [upstream];
  if (!plain.startsWith("/")) {
    throw new CorefileError(line, `not an IP address or file: "${word}"`);
  }
  return nameServersIn(fileText(plain, line, readFile));
}

function readHosts(directive: Directive, { readFile }: ConfigSurroundings): HostsConfig {
  const { args, lines, line } = directive;
  const [path] = args;
  const entries: (readonly string[])[] = [];
  if (path?.startsWith("/")) entries.push(...hostsLines(fileText(path, line, readFile)));
  let isFallthrough = false;
  let hasReverse = true;
  let ttlSeconds = HOSTS_TTL_DEFAULT;
  for (const { words, line } of lines) {
    const [option = "", value = ""] = words;
    if (option === "fallthrough") isFallthrough = true;
    else if (option === "no_reverse") hasReverse = false;
    else if (option === "ttl") ttlSeconds = wholeNumber(value, 1, 65_535, line);
    else if (option !== "reload") entries.push(words);
  }
  return { table: new HostsTable(entries, { hasReverse }), ttlSeconds, isFallthrough };
}

function readCache({ args, lines, line }: Directive): CacheConfig {
  const [ttl] = args;
  const isNumber = ttl !== undefined && /^\d+$/.test(ttl);
  let ttlMaxSeconds = isNumber ? wholeNumber(ttl, 1, 86_400, line) : CACHE_TTL_DEFAULT;
  for (const { words, line } of lines) {
    const [option = "", , seconds] = words;
    if (option === "success" && seconds !== undefined) {
      ttlMaxSeconds = wholeNumber(seconds, 1, 86_400, line);
    }
    if (!CACHE_OPTIONS.has(option)) throw new CorefileError(line, `unknown property '${option}'`);
  }
  return { ttlMaxSeconds };
}

/** The caches' sizes are fixed; nothing is fetched ahead or given out after its time. */
const CACHE_OPTIONS: ReadonlySet<string> = new Set([
  ...["success", "denial", "prefetch", "serve_stale", "servfail", "disable", "keepttl"],
]);

function readRewrites({ args, lines, line }: Directive): RewriteRule[] {
  const rules = args.length === 0 || lines.length > 0 ? lines : [{ words: args, line }];
  return rules.map(({ words, line }) => {
    const rule = parseRewrite(args.length > 0 && lines.length > 0 ? [...args, ...words] : words);
    if (typeof rule === "string") throw new CorefileError(line, rule);
    return rule;
  });
}

function fileText(path: string, line: number, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch (error) {
    throw new CorefileError(line, error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(text: string, min: number, max: number, line: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new CorefileError(line, `must be in range [${min}, ${max}]: ${text}`);
}
