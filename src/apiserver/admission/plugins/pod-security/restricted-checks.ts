/** The checks of the level restricted, on top of the baseline. */
import { isKnownProfile, procMount, seccompProfile } from "./baseline-checks.ts";
import {
  type Check,
  containerList,
  containersOf,
  hasUserNamespace,
  isWindows,
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

const ALLOWED_VOLUMES = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

export const restrictedChecks: readonly Check[] = [
  {
    id: "allowPrivilegeEscalation",
    level: "restricted",
    since: 8,
    check: exceptWindows(allowPrivilegeEscalation),
  },
  {
    id: "capabilities_restricted",
    level: "restricted",
    since: 22,
    replaces: "capabilities_baseline",
    check: exceptWindows(capabilities),
  },
  {
    id: "procMount_restricted",
    level: "restricted",
    since: 35,
    replaces: "procMount",
    check: procMount,
  },
  {
    id: "restrictedVolumes",
    level: "restricted",
    since: 0,
    replaces: "hostPathVolumes",
    check: volumes,
  },
  { id: "runAsNonRoot", level: "restricted", since: 0, check: exceptUserNamespace(runAsNonRoot) },
  { id: "runAsUser", level: "restricted", since: 23, check: exceptUserNamespace(runAsUser) },
  {
    id: "seccompProfile_restricted",
    level: "restricted",
    since: 19,
    replaces: "seccompProfile_baseline",
    check: exceptWindows(seccomp),
  },
];

type Rule = (pod: PodTemplate) => Violation | undefined;

/** Since 1.25 pods with os.name windows need not set fields that Windows does not support. */
function exceptWindows(rule: Rule): Check["check"] {
  return (pod, minor) => (minor >= 25 && isWindows(pod) ? undefined : rule(pod));
}

function exceptUserNamespace(rule: Rule): Check["check"] {
  return (pod, minor) => (minor >= 35 && hasUserNamespace(pod) ? undefined : rule(pod));
}

function allowPrivilegeEscalation(pod: PodTemplate): Violation | undefined {
  const bad = namesWhere(pod, (security) => security.allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  const detail = `${containerList(bad)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: "allowPrivilegeEscalation != false", detail };
}

function capabilities(pod: PodTemplate): Violation | undefined {
  const addedBy = (security: SecurityContext): string[] =>
    (security.capabilities?.add ?? []).filter((one) => one !== "NET_BIND_SERVICE");
  const keeping = namesWhere(pod, (security) => !security.capabilities?.drop?.includes("ALL"));
  const adding = namesWhere(pod, (security) => addedBy(security).length > 0);
  const added = sorted(containersOf(pod).flatMap((one) => addedBy(securityOf(one))));
  const details = [
    keeping.length > 0
      ? `${containerList(keeping)} must set securityContext.capabilities.drop=["ALL"]`
      : "",
    adding.length > 0
      ? `${containerList(adding)} must not include ${quoteAll(added)} in securityContext.capabilities.add`
      : "",
  ].filter((text) => text !== "");
  if (details.length === 0) return undefined;
  return { reason: "unrestricted capabilities", detail: details.join("; ") };
}

function volumes({ spec }: PodTemplate): Violation | undefined {
  const bad = (spec.volumes ?? []).flatMap(({ name, ...source }) => {
    const types = Object.keys(source);
    if (types.some((type) => ALLOWED_VOLUMES.has(type))) return [];
    return [{ name, type: types[0] ?? "unknown" }];
  });
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(({ type }) => type));
  const what = plural(types.length, "restricted volume type", "restricted volume types");
  return {
    reason: "restricted volume types",
    detail:
      `${plural(bad.length, "volume", "volumes")} ${quoteAll(bad.map(({ name }) => name))} ` +
      `${plural(bad.length, "uses", "use")} ${what} ${quoteAll(types)}`,
  };
}

function runAsNonRoot(pod: PodTemplate): Violation | undefined {
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const refusing = namesWhere(pod, (security) => security.runAsNonRoot === false);
  const reason = "runAsNonRoot != true";
  if (ofPod === false || refusing.length > 0) {
    const setters = settersText(ofPod === false, refusing);
    return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  }
  const silent = namesWhere(pod, ({ runAsNonRoot: own }) => own === undefined && ofPod !== true);
  if (silent.length === 0) return undefined;
  const detail = `pod or ${containerList(silent)} must set securityContext.runAsNonRoot=true`;
  return { reason, detail };
}

function runAsUser(pod: PodTemplate): Violation | undefined {
  const badPod = pod.spec.securityContext?.runAsUser === 0;
  const bad = namesWhere(pod, (security) => security.runAsUser === 0);
  if (!badPod && bad.length === 0) return undefined;
  return { reason: "runAsUser=0", detail: `${settersText(badPod, bad)} must not set runAsUser=0` };
}

function seccomp(pod: PodTemplate): Violation | undefined {
  const wrong = seccompProfile(pod);
  if (wrong !== undefined) return wrong;
  if (isKnownProfile(pod.spec.securityContext?.seccompProfile?.type ?? "")) return undefined;
  const silent = namesWhere(pod, (security) => security.seccompProfile === undefined);
  if (silent.length === 0) return undefined;
  return {
    reason: "seccompProfile",
    detail:
      `pod or ${containerList(silent)} must set securityContext.seccompProfile.type to ` +
      '"RuntimeDefault" or "Localhost"',
  };
}
