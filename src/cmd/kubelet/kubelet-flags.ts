/** The flags of `k8ts kubelet`: upstream's names. A flag that was given wins over the file. */
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { Command as Parser } from "commander";
import type { Taint } from "#api/generated/core.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import type { MemoryReservation } from "#kubelet/decide/resources/reserved-memory.ts";
import { DEFAULT_KUBELET_CONFIG, type KubeletConfig } from "#kubelet/kubelet-config.ts";
import { withReservedCpus } from "#kubelet/resources/create-resource-managers.ts";
import type { Clock } from "#lib/time/clock.ts";
import { tlsLimitsOf, tlsVersionOf, unknownCiphers } from "../apiserver/flags/tls-flags.ts";
import { servingCertificate } from "../component/serving-certificate.ts";
import { list } from "../flags/flag-values.ts";
import { addLogFlags } from "../flags/log-flags.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { type Flags, textOf } from "../flags/read-flags.ts";
import { checkKubeletConfig } from "./check-kubelet-config.ts";
import { type ReadConfiguration, readKubeletConfiguration } from "./kubelet-configuration.ts";
import type { NodeServing } from "./run-node.ts";

export function kubeletFlags(): Parser {
  return addLogFlags(new Parser("k8ts kubelet"))
    .option("--kubeconfig <file>", "how to reach the API server")
    .option(
      "--bootstrap-kubeconfig <file>",
      "gets a certificate for --kubeconfig if that is missing",
    )
    .option("--rotate-certificates [bool]", "renew the certificate of --kubeconfig")
    .option("--rotate-server-certificates [bool]", "serve with a certificate of the cluster")
    .option("--cert-dir <dir>", "where certificates of the cluster are kept")
    .option("--config <file>", "a KubeletConfiguration")
    .option("--config-dir <dir>", "drop-in files with the ending .conf")
    .option("--hostname-override <name>", "the node's name, if not the machine's")
    .option("--node-ip <ips>", "one address, or one of each family")
    .option("--node-labels <labels>", "name=value,…, set when the node registers")
    .option("--register-with-taints <taints>", "key=value:effect,…")
    .option("--register-node [bool]", "make the Node object")
    .option("--register-schedulable [bool]", "let pods be scheduled to it from the start")
    .option("--provider-id <id>", "the machine's name at its provider")
    .option("--root-dir <dir>", "where volumes and pods are kept")
    .option("--pod-log-dir <dir>", "where the logs of containers are")
    .option("--container-runtime-endpoint <url>", "the CRI socket")
    .option("--image-service-endpoint <url>", "the CRI socket for images, if another")
    .option("--cgroup-root <name>", "the cgroup below which pods live")
    .option("--cluster-dns <ips>", "servers that pods are given")
    .option("--cluster-domain <name>", "the domain of services")
    .option("--resolv-conf <file>", "the machine's resolver settings; empty for none")
    .option("--max-pods <n>", "pods that fit on the node")
    .option("--system-reserved <amounts>", "cpu=…,memory=…")
    .option("--kube-reserved <amounts>", "cpu=…,memory=…")
    .option("--eviction-hard <thresholds>", "memory.available<100Mi,…")
    .option("--eviction-soft <thresholds>", "memory.available<300Mi,…")
    .option("--eviction-soft-grace-period <periods>", "memory.available=1m30s,…")
    .option("--eviction-max-pod-grace-period <seconds>", "of pods evicted for a soft threshold")
    .option("--eviction-minimum-reclaim <amounts>", "nodefs.available=500Mi,…")
    .option("--image-gc-high-threshold <percent>", "disk use above which unused images are removed")
    .option("--image-gc-low-threshold <percent>", "disk use down to which they are removed")
    .option("--container-log-max-size <bytes>", "a log file is rotated at this size")
    .option("--container-log-max-files <n>", "log files of one container")
    .option("--image-credential-provider-config <file>", "a CredentialProviderConfig")
    .option("--image-credential-provider-bin-dir <dir>", "where its programs are")
    .option(
      "--allowed-unsafe-sysctls <names>",
      "kernel parameters that pods may set: kernel.msg*,…",
    )
    .option("--serialize-image-pulls [bool]", "pull images one after the other")
    .option("--pod-max-pids <n>", "processes of one pod; -1 for as many as the node allows")
    .option("--cpu-manager-policy <policy>", "none or static")
    .option("--cpu-manager-policy-options <options>", "full-pcpus-only=true,…")
    .option("--cpu-manager-reconcile-period <duration>", "retry of a container's cpuset")
    .option("--reserved-cpus <cpus>", "CPUs for the system: 0-1,8")
    .option("--memory-manager-policy <policy>", "None or Static")
    .option("--reserved-memory <amounts>", "0:memory=1Gi,hugepages-2Mi=64Mi;1:memory=1Gi")
    .option("--topology-manager-policy <policy>", "none, best-effort, restricted, …")
    .option("--topology-manager-policy-options <options>", "prefer-closest-numa-nodes=true,…")
    .option("--topology-manager-scope <scope>", "container or pod")
    .option("--manifest-url <url>", "static pods")
    .option("--pod-manifest-path <dir>", "static pods")
    .option("--port <port>", "of the kubelet's own server")
    .option("--address <ip>", "that the kubelet's own server listens on")
    .option("--client-ca-file <file>", "authority whose client certificates are believed")
    .option("--anonymous-auth [bool]", "answer requests without credentials")
    .option("--authorization-mode <mode>", "Webhook asks the API server, or AlwaysAllow")
    .option("--tls-cert-file <file>", "the server's certificate; its own unless given")
    .option("--tls-private-key-file <file>", "the key of --tls-cert-file")
    .option("--fail-swap-on [bool]", "do not start on a machine with swap")
    .option("--cpu-cfs-quota [bool]", "let the kernel enforce limits of cpu")
    .option("--cpu-cfs-quota-period <duration>", "the period of limits of cpu")
    .option("--pods-per-core <n>", "pods for each core; 0: only --max-pods counts")
    .option("--enforce-node-allocatable <keys>", "pods, or none")
    .option("--enable-server [bool]", "serve logs, exec, metrics and the rest")
    .option("--enable-debugging-handlers [bool]", "serve logs, exec, attach and port-forward")
    .option("--node-status-max-images <n>", "images in the node's status; -1 for all")
    .option("--node-status-update-frequency <duration>", "how often the node's status is looked at")
    .option("--oom-score-adj <n>", "of the kubelet itself")
    .option("--healthz-port <port>", "of /healthz over plain HTTP; 0 for none")
    .option("--healthz-bind-address <ip>", "that /healthz listens on")
    .option("--authentication-token-webhook [bool]", "let the API server review bearer tokens")
    .option("--tls-min-version <version>", "VersionTLS12 or VersionTLS13")
    .option("--tls-cipher-suites <names>", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,…")
    .option("--cni-conf-dir <dir>", "where a CNI configuration is written from the pod CIDR");
}

export interface GivenConfig extends Omit<ReadConfiguration, "values"> {
  readonly config: KubeletConfig;
}

export async function kubeletConfigOf(flags: Flags): Promise<GivenConfig> {
  const { values, warnings, withoutEffect } = await readKubeletConfiguration(
    textOf(flags, "config") ?? "",
    textOf(flags, "config-dir") ?? "",
  );
  const nodeName = (textOf(flags, "hostname-override") ?? hostname()).trim().toLowerCase();
  if (nodeName === "") throw new FlagError("empty hostname is invalid");
  const config = { ...DEFAULT_KUBELET_CONFIG, ...values, ...given(flags), nodeName };
  const problems = checkKubeletConfig(config);
  if (problems.length > 0) {
    const list = problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`;
    throw new FlagError(`failed to validate kubelet configuration, error: ${list}`);
  }
  return { config: withReservedCpus(config), warnings, withoutEffect };
}

/** How the kubelet's own server is reached, and by whom. */
export async function nodeServingOf(
  flags: Flags,
  config: KubeletConfig,
  clock: Clock,
): Promise<NodeServing> {
  const { nodeName, authorizationMode: mode, clientCaFile, address } = config;
  if (mode !== "Webhook" && mode !== "AlwaysAllow") {
    throw new FlagError(`authorization.mode must be Webhook or AlwaysAllow, not ${mode}`);
  }
  const files = { certFile: config.tlsCertFile, keyFile: config.tlsPrivateKeyFile };
  const unknown = unknownCiphers(config.tlsCipherSuites);
  if (unknown.length > 0) {
    throw new FlagError(`Cipher suite ${unknown[0]} not supported or doesn't exist`);
  }
  const limits = tlsLimitsOf({
    tlsMinVersion: tlsVersionOf(config.tlsMinVersion),
    tlsCipherSuites: config.tlsCipherSuites,
    tlsCurvePreferences: [],
  });
  const folder = textOf(flags, "cert-dir") ?? join(config.rootDir, "pki");
  const isIssued = config.serverTlsBootstrap && files.certFile === "";
  return {
    address,
    tls: isIssued ? { folder } : servingCertificate(files, nodeName, clock),
    tlsLimits: limits,
    clientCa: clientCaFile === "" ? undefined : await readFile(clientCaFile, "utf8"),
    anonymous: config.anonymousAuth,
    authorization: mode,
  };
}

type Values = { -readonly [Field in keyof KubeletConfig]?: KubeletConfig[Field] };

function given(flags: Flags): Values {
  const values: Values = {};
  const take = <Field extends keyof Values>(
    field: Field,
    flag: string,
    read: (text: string) => Values[Field],
  ): void => {
    const text = textOf(flags, flag);
    if (text !== undefined) values[field] = read(text);
  };
  const same = (text: string): string => text;
  const isTrue = (text: string): boolean => text === "true";
  take("nodeIps", "node-ip", list);
  take("nodeLabels", "node-labels", pairs);
  take("taints", "register-with-taints", taintsOf);
  take("registerNode", "register-node", isTrue);
  take("registerSchedulable", "register-schedulable", isTrue);
  take("providerId", "provider-id", same);
  take("rootDir", "root-dir", same);
  take("podLogsDir", "pod-log-dir", same);
  take("runtimeEndpoint", "container-runtime-endpoint", same);
  take("imageEndpoint", "image-service-endpoint", same);
  take("cgroupRoot", "cgroup-root", same);
  take("clusterDns", "cluster-dns", list);
  take("clusterDomain", "cluster-domain", same);
  take("resolvConf", "resolv-conf", same);
  take("maxPods", "max-pods", (text) => whole("max-pods", text));
  take("systemReserved", "system-reserved", pairs);
  take("kubeReserved", "kube-reserved", pairs);
  take("evictionHard", "eviction-hard", thresholds);
  take("evictionSoft", "eviction-soft", thresholds);
  take("evictionSoftGracePeriod", "eviction-soft-grace-period", pairs);
  take("evictionMaxPodGraceSeconds", "eviction-max-pod-grace-period", (text) =>
    whole("eviction-max-pod-grace-period", text),
  );
  take("evictionMinimumReclaim", "eviction-minimum-reclaim", pairs);
  take("imageGcHighPercent", "image-gc-high-threshold", (text) =>
    whole("image-gc-high-threshold", text),
  );
  take("imageGcLowPercent", "image-gc-low-threshold", (text) =>
    whole("image-gc-low-threshold", text),
  );
  take("containerLogMaxSize", "container-log-max-size", same);
  take("containerLogMaxFiles", "container-log-max-files", (text) =>
    whole("container-log-max-files", text),
  );
  take("credentialProviderConfig", "image-credential-provider-config", same);
  take("credentialProviderFolder", "image-credential-provider-bin-dir", same);
  take("allowedUnsafeSysctls", "allowed-unsafe-sysctls", list);
  take("serializeImagePulls", "serialize-image-pulls", isTrue);
  take("podPidsLimit", "pod-max-pids", Number);
  take("cpuManagerPolicy", "cpu-manager-policy", same);
  take("cpuManagerPolicyOptions", "cpu-manager-policy-options", pairs);
  take("cpuManagerReconcileMs", "cpu-manager-reconcile-period", (text) =>
    durationMs("cpu-manager-reconcile-period", text),
  );
  take("reservedSystemCpus", "reserved-cpus", same);
  take("memoryManagerPolicy", "memory-manager-policy", same);
  take("reservedMemory", "reserved-memory", reservations);
  take("topologyManagerPolicy", "topology-manager-policy", same);
  take("topologyManagerPolicyOptions", "topology-manager-policy-options", pairs);
  take("topologyManagerScope", "topology-manager-scope", same);
  take("staticPodUrl", "manifest-url", same);
  take("staticPodPath", "pod-manifest-path", same);
  take("port", "port", (text) => whole("port", text));
  take("address", "address", same);
  take("tlsCertFile", "tls-cert-file", same);
  take("tlsPrivateKeyFile", "tls-private-key-file", same);
  take("serverTlsBootstrap", "rotate-server-certificates", isTrue);
  take("rotateCertificates", "rotate-certificates", isTrue);
  take("clientCaFile", "client-ca-file", same);
  take("anonymousAuth", "anonymous-auth", isTrue);
  take("authorizationMode", "authorization-mode", same);
  take("cniConfDir", "cni-conf-dir", same);
  take("tlsMinVersion", "tls-min-version", same);
  take("tlsCipherSuites", "tls-cipher-suites", list);
  take("failSwapOn", "fail-swap-on", isTrue);
  take("cpuCfsQuota", "cpu-cfs-quota", isTrue);
  take("cpuCfsQuotaPeriodMs", "cpu-cfs-quota-period", (text) =>
    durationMs("cpu-cfs-quota-period", text),
  );
  take("podsPerCore", "pods-per-core", Number);
  take("enforceNodeAllocatable", "enforce-node-allocatable", list);
  take("enableServer", "enable-server", isTrue);
  take("enableDebuggingHandlers", "enable-debugging-handlers", isTrue);
  take("nodeStatusMaxImages", "node-status-max-images", Number);
  take("nodeStatusUpdateMs", "node-status-update-frequency", (text) =>
    durationMs("node-status-update-frequency", text),
  );
  take("oomScoreAdj", "oom-score-adj", Number);
  take("healthzPort", "healthz-port", (text) => whole("healthz-port", text));
  take("healthzAddress", "healthz-bind-address", same);
  take("webhookAuthentication", "authentication-token-webhook", isTrue);
  return values;
}

function whole(flag: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new FlagError(`invalid argument "${text}" for "--${flag}" flag`);
}

function pairs(text: string): Record<string, string> {
  return Object.fromEntries(
    list(text).map((part) => {
      const [name = "", ...value] = part.split("=");
      if (value.length === 0) throw new FlagError(`malformed pair, expect string=string: ${part}`);
      return [name, value.join("=")];
    }),
  );
}

function durationMs(flag: string, text: string): number {
  const parsed = parseDuration(text);
  if (parsed.ok) return Number(parsed.nanos / 1_000_000n);
  throw new FlagError(`invalid argument "${text}" for "--${flag}" flag: ${parsed.error}`);
}

function reservations(text: string): MemoryReservation[] {
  return text.split(";").map((part) => {
    const [node = "", limits = ""] = part.split(":");
    if (!/^\d+$/.test(node) || limits === "") {
      throw new FlagError(
        `invalid argument "${text}" for "--reserved-memory" flag: the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got ${part}`,
      );
    }
    return { numaNode: Number(node), limits: pairs(limits) };
  });
}

function thresholds(text: string): Record<string, string> {
  return Object.fromEntries(
    list(text).map((part) => {
      const [name = "", value = ""] = part.split("<");
      if (value === "")
        throw new FlagError(
          `invalid eviction threshold syntax ${part}, expected <signal><operator><value>`,
        );
      return [name, value];
    }),
  );
}

function taintsOf(text: string): Taint[] {
  return list(text).map((part) => {
    const [keyAndValue = "", effect = ""] = part.split(":");
    const [key = "", value] = keyAndValue.split("=");
    if (key === "" || effect === "") throw new FlagError(`invalid taint spec: ${part}`);
    return { key, effect: effect as Taint["effect"], ...(value === undefined ? {} : { value }) };
  });
}
