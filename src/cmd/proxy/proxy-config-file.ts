/** Reads a KubeProxyConfiguration: the fields that have an effect here. Others are refused by name. */
import { parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { ConntrackSettings } from "#proxy/conntrack-settings.ts";
import { FlagError } from "../flags/parse-flags.ts";

export interface ProxyConfigFile {
  readonly mode?: string;
  readonly clusterCIDR?: string;
  readonly detectLocalMode?: string;
  readonly bridgeInterface?: string;
  readonly interfaceNamePrefix?: string;
  readonly hostnameOverride?: string;
  readonly nodePortAddresses?: readonly string[];
  readonly healthzBindAddress?: string;
  readonly metricsBindAddress?: string;
  readonly kubeconfig?: string;
  readonly masqueradeAll?: boolean;
  readonly masqueradeBit?: number;
  readonly minSyncPeriodMs?: number;
  readonly syncPeriodMs?: number;
  readonly localhostNodePorts?: boolean;
  readonly bindAddress?: string;
  readonly oomScoreAdj?: number;
  readonly conntrack?: ConntrackSettings;
}

const API_VERSION = "kubeproxy.config.k8s.io/v1alpha1";

/** Fields of upstream's that are read over: they have nothing to act on. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...["apiVersion", "kind", "bindAddressHardFail", "configSyncPeriod"],
  ...["enableProfiling", "featureGates", "ipvs", "logging"],
  ...[
    "portRange",
    "showHiddenMetricsForVersion",
    "udpIdleTimeout",
    "winkernel",
    "windowsRunAsService",
  ],
]);

const TEXTS = [
  ...["mode", "clusterCIDR", "detectLocalMode", "hostnameOverride"],
  ...["healthzBindAddress", "metricsBindAddress", "bindAddress"],
] as const;

export function readProxyConfig(document: unknown): ProxyConfigFile {
  const fields = recordOf(document, "the configuration");
  if (fields.apiVersion !== API_VERSION || fields.kind !== "KubeProxyConfiguration") {
    const got = `${fields.apiVersion ?? ""}, Kind=${fields.kind ?? ""}`;
    throw new FlagError(`--config: no kind "KubeProxyConfiguration" of ${API_VERSION}, got ${got}`);
  }
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (WITHOUT_EFFECT.has(name) || value === null) continue;
    if ((TEXTS as readonly string[]).includes(name)) {
      if (textOf(value, name) !== "") found[name] = value;
    } else if (name === "nodePortAddresses") found[name] = textsOf(value, name);
    else if (name === "detectLocal") Object.assign(found, detectLocalOf(value));
    else if (name === "clientConnection") Object.assign(found, connectionOf(value));
    else if (name === "oomScoreAdj") found[name] = numberOf(value, name);
    else if (name === "conntrack") found[name] = conntrackOf(recordOf(value, name));
    else if (name === "iptables" || name === "nftables") {
      // Only the settings of the mode that runs count; without a mode it is nftables.
      const isChosen = name === (fields.mode === "iptables" ? "iptables" : "nftables");
      const settings = writerSettings(recordOf(value, name), name);
      if (isChosen) Object.assign(found, settings);
    } else throw new FlagError(`--config: strict decoding error: unknown field ${goQuote(name)}`);
  }
  return found;
}

function connectionOf(value: unknown): Pick<ProxyConfigFile, "kubeconfig"> {
  const { kubeconfig } = recordOf(value, "clientConnection");
  const path = kubeconfig === undefined ? "" : textOf(kubeconfig, "clientConnection.kubeconfig");
  return path === "" ? {} : { kubeconfig: path };
}

function detectLocalOf(value: unknown): ProxyConfigFile {
  const fields = recordOf(value, "detectLocal");
  const text = (name: string): string =>
    fields[name] === undefined ? "" : textOf(fields[name], `detectLocal.${name}`);
  const [bridgeInterface, interfaceNamePrefix] = [
    text("bridgeInterface"),
    text("interfaceNamePrefix"),
  ];
  return {
    ...(bridgeInterface === "" ? {} : { bridgeInterface }),
    ...(interfaceNamePrefix === "" ? {} : { interfaceNamePrefix }),
  };
}

function conntrackOf(fields: Readonly<Record<string, unknown>>): ConntrackSettings {
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(
    given.map(([name, value]) => {
      const at = `conntrack.${name}`;
      if (name === "maxPerCore" || name === "min") return [name, numberOf(value, at)];
      if (name === "tcpBeLiberal") return [name, value === true];
      if (CONNTRACK_TIMEOUTS.includes(name)) return [`${name}Ms`, durationOf(value, at)];
      throw new FlagError(`--config: strict decoding error: unknown field ${goQuote(at)}`);
    }),
  );
}

const CONNTRACK_TIMEOUTS = [
  ...["tcpEstablishedTimeout", "tcpCloseWaitTimeout", "udpTimeout", "udpStreamTimeout"],
];

function numberOf(value: unknown, at: string): number {
  if (typeof value === "number") return value;
  throw new FlagError(`--config: ${at} must be a number`);
}

function writerSettings(fields: Readonly<Record<string, unknown>>, at: string): ProxyConfigFile {
  const { masqueradeAll, masqueradeBit, minSyncPeriod, syncPeriod, localhostNodePorts } = fields;
  const syncPeriodMs = durationOf(syncPeriod, `${at}.syncPeriod`);
  const minSyncPeriodMs = durationOf(minSyncPeriod, `${at}.minSyncPeriod`);
  return {
    ...(typeof masqueradeAll === "boolean" ? { masqueradeAll } : {}),
    ...(typeof masqueradeBit === "number" ? { masqueradeBit } : {}),
    ...(typeof localhostNodePorts === "boolean" ? { localhostNodePorts } : {}),
    ...(minSyncPeriodMs > 0 ? { minSyncPeriodMs } : {}),
    ...(syncPeriodMs > 0 ? { syncPeriodMs } : {}),
  };
}

/** In milliseconds; 0 if it is not given. */
function durationOf(value: unknown, at: string): number {
  if (value === undefined || value === null) return 0;
  const parsed = parseDuration(textOf(value, at));
  if (!parsed.ok) throw new FlagError(`--config: ${at}: ${parsed.error}`);
  return Number(parsed.nanos / 1_000_000n);
}

function textsOf(value: unknown, at: string): string[] {
  if (!Array.isArray(value)) throw new FlagError(`--config: ${at} must be a list`);
  return value.map((each) => textOf(each, at));
}

function textOf(value: unknown, at: string): string {
  if (typeof value === "string") return value;
  throw new FlagError(`--config: ${at} must be a text`);
}

function recordOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new FlagError(`--config: ${at} must be an object`);
}
