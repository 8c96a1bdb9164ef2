/** The flags of `k8ts proxy`, under upstream's names, and what they mean together with a file. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { readYaml } from "#api/codec/yaml-reader.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { isCidr, parseIp } from "#api/validation/ip.ts";
import { messageOf } from "#lib/caught.ts";
import type { ConntrackSettings } from "#proxy/conntrack-settings.ts";
import { PROXY_MODES, type ProxyMode, proxyModeOf } from "#proxy/proxy-mode.ts";
import { DETECT_LOCAL_MODES } from "#proxy/rules/decide-base-rules.ts";
import type { ProxyOptions } from "#proxy/run-proxy.ts";
import {
  type AcceptedFlags,
  addAcceptedFlags,
  flagsWithoutEffect,
} from "../flags/accepted-flags.ts";
import { collect, integer } from "../flags/flag-values.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError } from "../flags/parse-flags.ts";
import { durationOf, type Flags, isOn, numberOf, textOf } from "../flags/read-flags.ts";
import { type ProxyConfigFile, readProxyConfig } from "./proxy-config-file.ts";

export interface ProxyProcessConfig {
  readonly log: LogFlags;
  readonly kubeconfig: string;
  readonly master: string;
  readonly cleanup: boolean;
  /** Undefined: what the machine can do. */
  readonly mode: ProxyMode | undefined;
  readonly metrics: Socket | undefined;
  /** Whether NetworkPolicies are enforced too. */
  readonly networkPolicy: boolean;
  readonly conntrack: ConntrackSettings;
  /** Of the process; undefined leaves it as it is. */
  readonly oomScoreAdj: number | undefined;
  /** Flags of upstream's that were given and have nothing to act on here. */
  readonly withoutEffect: readonly string[];
  readonly proxy: Pick<ProxyOptions, "nodeName"> & Partial<ProxyOptions>;
}

export interface Socket {
  readonly host: string;
  readonly port: number;
}

const MASQUERADE_BIT_MAX = 31;
/** Where upstream's messages say a mistake is, for flags as for fields of a file. */
const ROOT = "KubeProxyConfiguration";

const UPSTREAM_FLAGS: AcceptedFlags = {
  withoutEffect: [
    ...["bind-address-hard-fail", "config-sync-period", "feature-gates", "kube-api-burst"],
    ...["kube-api-content-type", "kube-api-qps", "profiling", "show-hidden-metrics-for-version"],
    ...["ipvs-exclude-cidrs", "ipvs-min-sync-period", "ipvs-scheduler", "ipvs-strict-arp"],
    ...["ipvs-sync-period", "ipvs-tcp-timeout", "ipvs-tcpfin-timeout", "ipvs-udp-timeout"],
    ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
    ...["log-text-info-buffer-size", "log-text-split-stream", "vmodule"],
  ],
  kept: {},
};

export function proxyFlags(): Parser {
  return addAcceptedFlags(ownFlags(), UPSTREAM_FLAGS);
}

function ownFlags(): Parser {
  return addVersionFlag(addLogFlags(new Parser("k8ts proxy")))
    .option("--config <file>", "a KubeProxyConfiguration; what it names takes the place of flags")
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option(
      "--proxy-mode <mode>",
      "nftables, iptables or userspace; nftables where the kernel has it",
    )
    .option(
      "--cluster-cidr <cidrs>",
      "networks of pods; other traffic to cluster IPs is masqueraded",
    )
    .option("--detect-local-mode <mode>", DETECT_LOCAL_MODES.join(", "), "ClusterCIDR")
    .option("--pod-bridge-interface <name>", "of pods, for BridgeInterface")
    .option("--pod-interface-name-prefix <prefix>", "of pods, for InterfaceNamePrefix")
    .option(
      "--nodeport-addresses <cidrs>",
      "where node ports answer: networks, or `primary` for the node's own addresses",
      collect,
      [],
    )
    .option("--network-policy", "enforce NetworkPolicies on this node", true)
    .option("--no-network-policy", "leave NetworkPolicies to an add-on")
    .option("--hostname-override <name>", "the name of the Node")
    .option("--cleanup", "remove the rules of every mode, and end")
    .option("--masquerade-all [bool]", "masquerade all traffic to cluster IPs", "false")
    .option("--iptables-masquerade-bit <bit>", "of the packet mark", integer, 14)
    .option(
      "--iptables-localhost-nodeports [bool]",
      "node ports answer at 127.0.0.1, in iptables mode",
      "true",
    )
    .option("--bind-address <ip>", "the node's own address, if not the one of the Node", "0.0.0.0")
    .option("--conntrack-max-per-core <number>", "limit of tracked connections a core", integer)
    .option("--conntrack-min <number>", "least limit, however few cores there are", integer)
    .option("--conntrack-tcp-timeout-established <duration>", "of idle connections")
    .option("--conntrack-tcp-timeout-close-wait <duration>", "of half-closed connections")
    .option("--conntrack-tcp-be-liberal [bool]", "track TCP packets outside of the window")
    .option("--conntrack-udp-timeout <duration>", "of UDP flows without an answer")
    .option("--conntrack-udp-timeout-stream <duration>", "of UDP flows with answers")
    .option("--oom-score-adj <number>", "of this process, from -1000 to 1000", integer)
    .option("--iptables-min-sync-period <duration>", "least time between two writes")
    .option("--iptables-sync-period <duration>", "how often flushed rules are looked for", "10s")
    .option("--healthz-bind-address <ip:port>", "of /healthz; empty for none", "0.0.0.0:10256")
    .option("--metrics-bind-address <ip:port>", "of /metrics; empty for none", "127.0.0.1:10249");
}

export function proxyConfigOf(flags: Flags): ProxyProcessConfig {
  const path = textOf(flags, "config");
  const file = path === undefined ? {} : readFile(path);
  const mode = file.mode ?? textOf(flags, "proxy-mode") ?? "";
  const name = textOf(flags, "hostname-override") ?? file.hostnameOverride ?? hostname();
  const minSync = textOf(flags, "iptables-min-sync-period");
  const healthz = file.healthzBindAddress ?? textOf(flags, "healthz-bind-address") ?? "";
  return {
    log: logFlagsOf({ v: Number(flags.v), loggingFormat: String(flags.loggingFormat) }),
    kubeconfig: file.kubeconfig ?? textOf(flags, "kubeconfig") ?? "",
    master: textOf(flags, "master") ?? "",
    cleanup: isOn(flags, "cleanup"),
    mode: mode === "" ? undefined : modeOf(mode),
    networkPolicy: isOn(flags, "network-policy"),
    conntrack: { ...conntrackOf(flags), ...file.conntrack },
    oomScoreAdj: oomScoreOf(file.oomScoreAdj ?? (flags.oomScoreAdj as number | undefined)),
    withoutEffect: flagsWithoutEffect(UPSTREAM_FLAGS, flags),
    metrics: socketOf(
      file.metricsBindAddress ?? textOf(flags, "metrics-bind-address") ?? "",
      "MetricsBindAddress",
    ),
    proxy: {
      nodeName: name.trim().toLowerCase(),
      clusterCidrs: cidrsOf(file.clusterCIDR ?? textOf(flags, "cluster-cidr") ?? ""),
      ...detectLocalOf(file.detectLocalMode ?? textOf(flags, "detect-local-mode"), {
        BridgeInterface: file.bridgeInterface ?? textOf(flags, "pod-bridge-interface"),
        InterfaceNamePrefix: file.interfaceNamePrefix ?? textOf(flags, "pod-interface-name-prefix"),
      }),
      ...nodeIpOf(file.bindAddress ?? textOf(flags, "bind-address") ?? ""),
      localhostNodePorts: file.localhostNodePorts ?? isOn(flags, "iptables-localhost-nodeports"),
      masqueradeAll: file.masqueradeAll ?? isOn(flags, "masquerade-all"),
      masqueradeBit: bitOf(file.masqueradeBit ?? Number(flags.iptablesMasqueradeBit)),
      checkPeriodMs: checkPeriodOf(file.syncPeriodMs ?? durationOf(flags, "iptables-sync-period")),
      ...nodePortsOf(file.nodePortAddresses ?? (flags.nodeportAddresses as string[])),
      ...minSyncOf(
        file,
        minSync === undefined ? undefined : durationOf(flags, "iptables-min-sync-period"),
      ),
      ...(healthz === "" ? {} : { healthz: socketOf(healthz, "HealthzBindAddress")! }),
    },
  };
}

function readFile(path: string): ProxyConfigFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new FlagError(`--config: ${messageOf(error)}`);
  }
  const read = readYaml(text);
  if (!read.ok) throw new FlagError(`--config: ${read.error}`);
  return readProxyConfig(read.value);
}

function modeOf(text: string): ProxyMode {
  const mode = proxyModeOf(text);
  if (mode !== undefined) return mode;
  const known = [...PROXY_MODES].sort().join(", ");
  const blank = "blank means the best-available proxy [currently nftables]";
  throw invalid("Mode.ProxyMode", goQuote(text), `must be ${known} or blank (${blank})`);
}

function detectLocalOf(
  text = "ClusterCIDR",
  interfaces: Readonly<Record<keyof typeof INTERFACE_FIELDS, string | undefined>>,
): Pick<ProxyOptions, "detectLocalMode" | "podInterface"> {
  const detectLocalMode = DETECT_LOCAL_MODES.find((known) => known === text);
  if (detectLocalMode === undefined) {
    const known = DETECT_LOCAL_MODES.map((mode) => goQuote(mode)).join(", ");
    throw new FlagError(
      `${ROOT}.DetectLocalMode: Unsupported value: ${goQuote(text)}: supported values: ${known}`,
    );
  }
  if (detectLocalMode === "ClusterCIDR" || detectLocalMode === "NodeCIDR") {
    return { detectLocalMode };
  }
  const podInterface = interfaces[detectLocalMode] ?? "";
  if (podInterface === "")
    throw invalid(INTERFACE_FIELDS[detectLocalMode], '""', "must not be empty");
  return { detectLocalMode, podInterface };
}

const INTERFACE_FIELDS = {
  BridgeInterface: "DetectLocalConfiguration.InterfaceName",
  InterfaceNamePrefix: "DetectLocalConfiguration.InterfacePrefix",
};

function cidrsOf(text: string): string[] {
  const cidrs = text.split(",").filter((part) => part !== "");
  for (const cidr of cidrs) {
    if (isCidr(cidr).length > 0) {
      const problem = "must be a valid CIDR block (e.g. 10.100.0.0/16 or fde4:8dba:82e1::/48)";
      throw invalid("DetectLocalConfiguration.ClusterCIDRs", goQuote(cidr), problem);
    }
  }
  return cidrs;
}

function nodePortsOf(given: readonly string[]): Pick<ProxyOptions, "nodePortAddresses"> {
  for (const [i, each] of given.entries()) {
    if (each === "primary" ? given.length === 1 : isCidr(each).length === 0) continue;
    const isMixed = each === "primary";
    const problem = isMixed ? "can't use both 'primary' and CIDRs" : "must be a valid CIDR";
    throw invalid(`NodePortAddresses[${i}]`, goQuote(each), problem);
  }
  return given.length === 0 ? {} : { nodePortAddresses: given };
}

/** An address that means all of them leaves the choice to the Node. */
function nodeIpOf(text: string): Pick<ProxyOptions, "nodeIp"> {
  if (text === "" || text === "0.0.0.0" || text === "::") return {};
  if (parseIp(text) === undefined) {
    throw invalid("BindAddress", goQuote(text), "must be a valid IP address, (e.g. 10.9.8.7)");
  }
  return { nodeIp: text };
}

function conntrackOf(flags: Flags): ConntrackSettings {
  const number = (name: string, flag: string): object =>
    textOf(flags, flag) === undefined ? {} : { [name]: numberOf(flags, flag) };
  const duration = (name: string, flag: string): object =>
    textOf(flags, flag) === undefined ? {} : { [name]: durationOf(flags, flag) };
  return {
    ...number("maxPerCore", "conntrack-max-per-core"),
    ...number("min", "conntrack-min"),
    ...duration("tcpEstablishedTimeoutMs", "conntrack-tcp-timeout-established"),
    ...duration("tcpCloseWaitTimeoutMs", "conntrack-tcp-timeout-close-wait"),
    ...(isOn(flags, "conntrack-tcp-be-liberal") ? { tcpBeLiberal: true } : {}),
    ...duration("udpTimeoutMs", "conntrack-udp-timeout"),
    ...duration("udpStreamTimeoutMs", "conntrack-udp-timeout-stream"),
  };
}

function oomScoreOf(score: number | undefined): number | undefined {
  if (score === undefined || (score >= -1000 && score <= 1000)) return score;
  throw invalid(
    "KubeProxyLinuxConfiguration.OOMScoreAdj",
    String(score),
    "must be within the range [-1000, 1000]",
  );
}

function invalid(path: string, value: string, problem: string): FlagError {
  return new FlagError(`${ROOT}.${path}: Invalid value: ${value}: ${problem}`);
}

function bitOf(bit: number): number {
  if (Number.isInteger(bit) && bit >= 0 && bit <= MASQUERADE_BIT_MAX) return bit;
  const path = "KubeProxyIPTablesConfiguration.MasqueradeBit";
  throw invalid(path, String(bit), "must be within the range [0, 31]");
}

function checkPeriodOf(ms: number): number {
  if (ms > 0) return ms;
  throw invalid("SyncPeriod", goQuote(`${ms}ms`), "must be greater than 0");
}

function minSyncOf(
  file: ProxyConfigFile,
  flagMs: number | undefined,
): Pick<ProxyOptions, "minSyncPeriodMs"> {
  const ms = file.minSyncPeriodMs ?? flagMs;
  return ms === undefined ? {} : { minSyncPeriodMs: ms };
}

/** `127.0.0.1:10249` or `[::1]:10249`; undefined if empty. */
function socketOf(text: string, field: string): Socket | undefined {
  if (text === "") return undefined;
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d+)$/.exec(text);
  if (match === null) throw invalid(field, goQuote(text), "must be IP:port");
  const host = match[1] ?? match[2] ?? "";
  const port = Number(match[3]);
  if (parseIp(host) === undefined) throw invalid(field, goQuote(host), "must be a valid IP");
  if (port < 1 || port > 65_535) {
    throw invalid(field, goQuote(match[3] ?? ""), "must be a valid port");
  }
  return { host, port };
}
