/** The baseline: nothing that is known to give a pod power over its node. */
import type { LifecycleHandler, Probe } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  type AnyContainer,
  type Check,
  containerList,
  containersOf,
  hasUserNamespace,
  namesWhere,
  type PodTemplate,
  plural,
  quoteAll,
  type SecurityContext,
  securityOf,
  settersText,
  sorted,
  type Violation,
} from "./check.ts";

const APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD_ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER_ANNOTATION = "container.seccomp.security.alpha.kubernetes.io/";
const PROFILES = ["RuntimeDefault", "Localhost"];
const CAPABILITIES = new Set(
  (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID " +
    "SETPCAP SETUID SYS_CHROOT"
  ).split(" "),
);
/** Each with the version that it is allowed since. */
const SYSCTLS: ReadonlyMap<string, number> = new Map([
  ["kernel.shm_rmid_forced", 0],
  ["net.ipv4.ip_local_port_range", 0],
  ["net.ipv4.tcp_syncookies", 0],
  ["net.ipv4.ping_group_range", 0],
  ["net.ipv4.ip_unprivileged_port_start", 0],
  ["net.ipv4.ip_local_reserved_ports", 27],
  ["net.ipv4.tcp_keepalive_time", 29],
  ["net.ipv4.tcp_fin_timeout", 29],
  ["net.ipv4.tcp_keepalive_intvl", 29],
  ["net.ipv4.tcp_keepalive_probes", 29],
  ["net.ipv4.tcp_rmem", 32],
  ["net.ipv4.tcp_wmem", 32],
]);
const SELINUX_TYPES: ReadonlyMap<string, number> = new Map([
  ["", 0],
  ["container_t", 0],
  ["container_init_t", 0],
  ["container_kvm_t", 0],
  ["container_engine_t", 31],
]);

export const baselineChecks: readonly Check[] = [
  { id: "appArmorProfile", level: "baseline", since: 0, check: appArmorProfile },
  { id: "capabilities_baseline", level: "baseline", since: 0, check: capabilities },
  { id: "hostNamespaces", level: "baseline", since: 0, check: hostNamespaces },
  { id: "hostPathVolumes", level: "baseline", since: 0, check: hostPathVolumes },
  { id: "hostPorts", level: "baseline", since: 0, check: hostPorts },
  { id: "hostProbesAndHostLifecycle", level: "baseline", since: 34, check: handlerHosts },
  { id: "privileged", level: "baseline", since: 0, check: privileged },
  {
    id: "procMount",
    level: "baseline",
    since: 0,
    check: (pod, minor) => (minor >= 35 && hasUserNamespace(pod) ? undefined : procMount(pod)),
  },
  { id: "seLinuxOptions", level: "baseline", since: 0, check: seLinuxOptions },
  {
    id: "seccompProfile_baseline",
    level: "baseline",
    since: 0,
    check: (pod, minor) => (minor < 19 ? seccompAnnotations(pod) : seccompProfile(pod)),
  },
  { id: "sysctls", level: "baseline", since: 0, check: sysctls },
  { id: "windowsHostProcess", level: "baseline", since: 0, check: windowsHostProcess },
];

export function isKnownProfile(type: string): boolean {
  return PROFILES.includes(type);
}

export function procMount(pod: PodTemplate): Violation | undefined {
  const isBad = ({ procMount: mount }: SecurityContext): boolean =>
    mount !== undefined && mount !== "Default";
  const bad = namesWhere(pod, isBad);
  if (bad.length === 0) return undefined;
  const types = sorted(
    containersOf(pod)
      .map(securityOf)
      .filter(isBad)
      .map((one) => one.procMount ?? ""),
  );
  return {
    reason: "procMount",
    detail: `${containerList(bad)} must not set securityContext.procMount to ${quoteAll(types)}`,
  };
}

/** Profiles that are set to something else than the known ones. */
export function seccompProfile(pod: PodTemplate): Violation | undefined {
  const podType = pod.spec.securityContext?.seccompProfile?.type;
  const badPod = podType !== undefined && !isKnownProfile(podType);
  const isBad = ({ seccompProfile: profile }: SecurityContext): boolean =>
    profile !== undefined && !isKnownProfile(profile.type);
  const bad = namesWhere(pod, isBad);
  if (!badPod && bad.length === 0) return undefined;
  const values = containersOf(pod)
    .map(securityOf)
    .filter(isBad)
    .map((one) => one.seccompProfile?.type ?? "");
  const all = sorted([...(badPod ? [podType] : []), ...values]);
  return {
    reason: "seccompProfile",
    detail: `${settersText(badPod, bad)} must not set securityContext.seccompProfile.type to ${quoteAll(all)}`,
  };
}

function appArmorProfile(pod: PodTemplate): Violation | undefined {
  const podType = pod.spec.securityContext?.appArmorProfile?.type;
  const badPod = podType !== undefined && !isKnownProfile(podType);
  const isBad = ({ appArmorProfile: profile }: SecurityContext): boolean =>
    profile !== undefined && !isKnownProfile(profile.type);
  const bad = namesWhere(pod, isBad);
  const types = containersOf(pod)
    .map(securityOf)
    .filter(isBad)
    .map((one) => one.appArmorProfile?.type ?? "");
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => {
      const known = value === "" || value === "runtime/default" || value.startsWith("localhost/");
      return key.startsWith(APP_ARMOR_ANNOTATION) && !known;
    })
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .sort();
  const values = [...sorted([...(badPod ? [podType] : []), ...types]), ...annotations];
  if (values.length === 0) return undefined;
  const setters = [
    settersText(badPod, bad),
    annotations.length === 0 ? "" : plural(annotations.length, "annotation", "annotations"),
  ].filter((text) => text !== "");
  return {
    reason: plural(values.length, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
    detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoteAll(values)}`,
  };
}

function capabilities(pod: PodTemplate): Violation | undefined {
  const addedBy = (security: SecurityContext): string[] =>
    (security.capabilities?.add ?? []).filter((one) => !CAPABILITIES.has(one));
  const bad = namesWhere(pod, (security) => addedBy(security).length > 0);
  if (bad.length === 0) return undefined;
  const added = sorted(containersOf(pod).flatMap((one) => addedBy(securityOf(one))));
  return {
    reason: "non-default capabilities",
    detail: `${containerList(bad)} must not include ${quoteAll(added)} in securityContext.capabilities.add`,
  };
}

function hostNamespaces({ spec }: PodTemplate): Violation | undefined {
  const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name]);
  if (shared.length === 0) return undefined;
  return { reason: "host namespaces", detail: shared.map((name) => `${name}=true`).join(", ") };
}

function hostPathVolumes({ spec }: PodTemplate): Violation | undefined {
  const bad = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined);
  if (bad.length === 0) return undefined;
  const names = quoteAll(bad.map(({ name }) => name));
  const detail = `${plural(bad.length, "volume", "volumes")} ${names}`;
  return { reason: "hostPath volumes", detail };
}

function hostPorts(pod: PodTemplate): Violation | undefined {
  const portsOf = ({ ports = [] }: AnyContainer): string[] =>
    ports.flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []));
  const bad = namesWhere(pod, (_, container) => portsOf(container).length > 0);
  if (bad.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap(portsOf));
  const use = plural(bad.length, "uses", "use");
  const what = plural(ports.length, "hostPort", "hostPorts");
  return { reason: "hostPort", detail: `${containerList(bad)} ${use} ${what} ${ports.join(", ")}` };
}

function handlerHosts(pod: PodTemplate): Violation | undefined {
  const hostsOf = (container: AnyContainer): string[] => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    const handlers = [
      livenessProbe,
      readinessProbe,
      startupProbe,
      lifecycle?.postStart,
      lifecycle?.preStop,
    ];
    return handlers.flatMap((handler: Probe | LifecycleHandler | undefined) =>
      [handler?.httpGet?.host, handler?.tcpSocket?.host].filter(
        (host) => host !== undefined && host !== "",
      ),
    ) as string[];
  };
  const bad = sorted(namesWhere(pod, (_, container) => hostsOf(container).length > 0));
  if (bad.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(hostsOf));
  const use = plural(bad.length, "uses", "use");
  const what = plural(hosts.length, "probe or lifecycle host", "probe or lifecycle hosts");
  return {
    reason: "probe or lifecycle host",
    detail: `${containerList(bad)} ${use} ${what} ${quoteAll(hosts)}`,
  };
}

function privileged(pod: PodTemplate): Violation | undefined {
  const bad = namesWhere(pod, (security) => security.privileged === true);
  if (bad.length === 0) return undefined;
  const detail = `${containerList(bad)} must not set securityContext.privileged=true`;
  return { reason: "privileged", detail };
}

function seLinuxOptions(pod: PodTemplate, minor: number): Violation | undefined {
  type Options = SecurityContext["seLinuxOptions"];
  const badType = (options: Options): boolean =>
    (SELINUX_TYPES.get(options?.type ?? "") ?? Number.POSITIVE_INFINITY) > minor;
  const isBad = (options: Options): boolean =>
    badType(options) || Boolean(options?.user) || Boolean(options?.role);
  const podOptions = pod.spec.securityContext?.seLinuxOptions;
  const bad = namesWhere(pod, (security) => isBad(security.seLinuxOptions));
  if (!isBad(podOptions) && bad.length === 0) return undefined;
  const all = [podOptions, ...containersOf(pod).map((one) => securityOf(one).seLinuxOptions)];
  const types = sorted(all.filter(badType).map((options) => options?.type ?? ""));
  const faults = [
    ...(types.length > 0 ? [`${plural(types.length, "type", "types")} ${quoteAll(types)}`] : []),
    ...(all.some((options) => options?.user) ? ["user may not be set"] : []),
    ...(all.some((options) => options?.role) ? ["role may not be set"] : []),
  ];
  const setters = settersText(isBad(podOptions), bad);
  return {
    reason: "seLinuxOptions",
    detail: `${setters} set forbidden securityContext.seLinuxOptions: ${faults.join("; ")}`,
  };
}

/** How profiles were named before there was a field for them. */
function seccompAnnotations(pod: PodTemplate): Violation | undefined {
  const keys = [
    SECCOMP_POD_ANNOTATION,
    ...containersOf(pod).map(({ name }) => `${SECCOMP_CONTAINER_ANNOTATION}${name}`),
  ];
  const bad = sorted(
    keys.flatMap((key) => {
      const value = pod.metadata.annotations?.[key];
      if (value === undefined || /^(runtime\/default$|docker\/default$|localhost\/)/.test(value)) {
        return [];
      }
      return [`${key}=${goQuote(value)}`];
    }),
  );
  if (bad.length === 0) return undefined;
  const detail = `forbidden ${plural(bad.length, "annotation", "annotations")} ${bad.join(", ")}`;
  return { reason: "seccompProfile", detail };
}

function sysctls({ spec }: PodTemplate, minor: number): Violation | undefined {
  const bad = (spec.securityContext?.sysctls ?? [])
    .map(({ name }) => name)
    .filter((name) => (SYSCTLS.get(name) ?? Number.POSITIVE_INFINITY) > minor);
  if (bad.length === 0) return undefined;
  return { reason: "forbidden sysctls", detail: bad.join(", ") };
}

function windowsHostProcess(pod: PodTemplate): Violation | undefined {
  const badPod = pod.spec.securityContext?.windowsOptions?.hostProcess === true;
  const bad = namesWhere(pod, (security) => security.windowsOptions?.hostProcess === true);
  if (!badPod && bad.length === 0) return undefined;
  const setters = settersText(badPod, bad);
  const detail = `${setters} must not set securityContext.windowsOptions.hostProcess=true`;
  return { reason: "hostProcess", detail };
}
