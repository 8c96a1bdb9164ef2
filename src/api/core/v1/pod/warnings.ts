/** What is allowed and yet most likely not meant, or on its way out. */
import { isWhole } from "#api/core/v1/resource-lists.ts";
import type {
  EnvVar,
  NodeSelectorTerm,
  PodSpec,
  PodTemplateSpec,
  ResourceList,
} from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { quantityOf } from "#api/meta/quantity.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { ipWarnings } from "#api/validation/ip.ts";
import { isLabelValue } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { allContainers, placedContainers } from "./containers.ts";
import { portWarnings } from "./port-warnings.ts";
import { APPARMOR_PREFIX, appArmorProfileOf, SECCOMP_POD, SECCOMP_PREFIX } from "./profiles.ts";
import { pathOverlapWarnings, volumeWarnings } from "./volume-warnings.ts";

/** Labels of nodes that have got other names. */
const DEPRECATED_NODE_LABELS: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

const DEPRECATED_ANNOTATIONS: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod":
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls":
    'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls":
    'non-functional in v1.11+; use the "sysctls" field instead',
};

const NO_SELECTOR = "a null labelSelector results in matching no pod";
const SECCOMP_GONE = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Where the parts of the object stand. */
interface Paths {
  readonly metadata: Path;
  readonly spec: Path;
}

export function podWarnings(metadata: ObjectMeta, spec: PodSpec, paths: Paths): string[] {
  return [
    ...placementWarnings(spec, paths.spec),
    ...annotationWarnings(metadata, paths.metadata),
    ...volumeWarnings(spec, paths.spec),
    ...pathOverlapWarnings(spec),
    ...listWarnings(spec, paths.spec),
    ...fractionWarnings(spec.overhead, paths.spec.child("overhead")),
    ...seccompWarnings(metadata, spec, paths.metadata),
    ...containerWarnings(spec, paths.spec),
    ...portWarnings(spec, paths.spec),
    ...graceWarnings(spec, paths.spec),
    ...podAffinityWarnings(spec, paths.spec),
    ...addressWarnings(spec, paths.spec),
  ];
}

/** Pods are told when the annotation becomes a field; templates here, since they keep it. */
export function templateWarnings(template: PodTemplateSpec, path: Path): string[] {
  const metadata = template.metadata ?? {};
  const paths = { metadata: path.child("metadata"), spec: path.child("spec") };
  return [
    ...podWarnings(metadata, template.spec, paths),
    ...appArmorWarnings(metadata, template.spec, paths.metadata),
  ];
}

export function nodeLabelDeprecation(label: string): string | undefined {
  return Object.hasOwn(DEPRECATED_NODE_LABELS, label) ? DEPRECATED_NODE_LABELS[label] : undefined;
}

function placementWarnings(spec: PodSpec, path: Path): string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(spec.nodeSelector ?? {})) {
    const message = nodeLabelDeprecation(label);
    if (message === undefined) continue;
    warnings.push(`${path.child("nodeSelector").key(label)}: ${message}`);
  }
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const { [required]: needed, [preferred]: wished } = spec.affinity?.nodeAffinity ?? {};
  const at = path.child("affinity", "nodeAffinity");
  for (const [i, term] of (needed?.nodeSelectorTerms ?? []).entries()) {
    const termPath = at.child(required, "nodeSelectorTerms").index(i);
    warnings.push(...nodeTermWarnings(term, false, termPath));
  }
  for (const [i, { preference }] of (wished ?? []).entries()) {
    const termPath = at.child(preferred).index(i).child("preference");
    warnings.push(...nodeTermWarnings(preference, true, termPath));
  }
  for (const [i, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const { topologyKey, labelSelector } = constraint;
    const constraintPath = path.child("topologySpreadConstraints").index(i);
    const message = nodeLabelDeprecation(topologyKey);
    if (message !== undefined) {
      warnings.push(`${constraintPath.child("topologyKey")}: ${topologyKey} is ${message}`);
    }
    if (labelSelector === undefined) {
      warnings.push(`${constraintPath.child("labelSelector")}: ${NO_SELECTOR}`);
    }
  }
  return warnings;
}

/** Wishes may name impossible values, since they do no harm; so they are only warned of. */
export function nodeTermWarnings(
  { matchExpressions = [] }: NodeSelectorTerm,
  checkValues: boolean,
  path: Path,
): string[] {
  return matchExpressions.flatMap(({ key, values = [] }, i) => {
    const at = path.child("matchExpressions").index(i);
    const message = nodeLabelDeprecation(key);
    const warnings = message === undefined ? [] : [`${at.child("key")}: ${key} is ${message}`];
    if (!checkValues) return warnings;
    for (const [j, value] of values.entries()) {
      for (const fault of isLabelValue(value)) {
        warnings.push(`${at.child("values").index(j)}: ${value} is invalid, ${fault}`);
      }
    }
    return warnings;
  });
}

function annotationWarnings({ annotations }: ObjectMeta, path: Path): string[] {
  if (annotations === undefined) return [];
  return Object.entries(DEPRECATED_ANNOTATIONS)
    .filter(([key]) => annotations[key] !== undefined)
    .map(([key, message]) => `${path.child("annotations").key(key)}: ${message}`);
}

function listWarnings({ hostAliases = [], imagePullSecrets = [] }: PodSpec, path: Path): string[] {
  const warnings: string[] = [];
  for (const [i, { ip }] of hostAliases.entries()) {
    if (hostAliases.findIndex((alias) => alias.ip === ip) === i) continue;
    warnings.push(`${path.child("hostAliases").index(i).child("ip")}: duplicate ip ${goQuote(ip)}`);
  }
  const at = path.child("imagePullSecrets");
  for (const [i, { name = "" }] of imagePullSecrets.entries()) {
    if (imagePullSecrets.findIndex((secret) => (secret.name ?? "") === name) === i) continue;
    warnings.push(`${at.index(i).child("name")}: duplicate name ${goQuote(name)}`);
  }
  for (const [i, { name = "" }] of imagePullSecrets.entries()) {
    if (name === "") warnings.push(`${at.index(i).child("name")}: invalid empty name ""`);
  }
  return warnings;
}

function fractionWarnings(list: ResourceList | undefined, path: Path): string[] {
  const warnings: string[] = [];
  if (list === undefined) return warnings;
  for (const name of ["memory", "ephemeral-storage"]) {
    const amount = list[name];
    if (amount === undefined || isWhole(quantityOf(amount))) continue;
    warnings.push(
      `${path.key(name)}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`,
    );
  }
  return warnings;
}

function seccompWarnings({ annotations }: ObjectMeta, spec: PodSpec, path: Path): string[] {
  if (annotations === undefined) return [];
  const at = path.child("annotations");
  const warnings: string[] = [];
  if (annotations[SECCOMP_POD] !== undefined && !spec.securityContext?.seccompProfile) {
    warnings.push(`${at.key(SECCOMP_POD)}: ${SECCOMP_GONE}`);
  }
  for (const { name, securityContext } of allContainers(spec)) {
    const key = `${SECCOMP_PREFIX}${name}`;
    if (annotations[key] === undefined || securityContext?.seccompProfile) continue;
    warnings.push(`${at.key(key)}: ${SECCOMP_GONE}`);
  }
  return warnings;
}

function appArmorWarnings({ annotations }: ObjectMeta, spec: PodSpec, path: Path): string[] {
  if (annotations === undefined) return [];
  const podProfile = spec.securityContext?.appArmorProfile;
  return allContainers(spec).flatMap(({ name, securityContext }) => {
    const key = `${APPARMOR_PREFIX}${name}`;
    const annotation = annotations[key];
    if (annotation === undefined || securityContext?.appArmorProfile !== undefined) return [];
    if (podProfile && semanticEqual(podProfile, appArmorProfileOf(annotation))) return [];
    const at = path.child("annotations").key(key);
    return [`${at}: deprecated since v1.30; use the "appArmorProfile" field instead`];
  });
}

function containerWarnings(spec: PodSpec, path: Path): string[] {
  const warnings: string[] = [];
  for (const { container, path: at } of placedContainers(spec, path)) {
    const { limits, requests } = container.resources;
    if (limits !== undefined) {
      warnings.push(...fractionWarnings(limits, at.child("resources", "limits")));
    }
    if (requests !== undefined) {
      warnings.push(...fractionWarnings(requests, at.child("resources", "requests")));
    }
    const { env } = container;
    if (env !== undefined && env.length > 1) warnings.push(...envWarnings(env, at.child("env")));
  }
  return warnings;
}

/** A second definition is fine only if it builds on the first: `X="$(X)…"`. */
function envWarnings(vars: readonly EnvVar[], path: Path): string[] {
  const seen = new Set<string>();
  const warnings: string[] = [];
  for (const [i, { name, value = "", valueFrom }] of vars.entries()) {
    const reference = `$(${name})`;
    const buildsOn = valueFrom === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !buildsOn) {
      warnings.push(
        `${path.index(i)}: hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
      );
    }
    seen.add(name);
  }
  return warnings;
}

function graceWarnings({ terminationGracePeriodSeconds = 0 }: PodSpec, path: Path): string[] {
  if (terminationGracePeriodSeconds >= 0) return [];
  const at = path.child("terminationGracePeriodSeconds");
  return [`${at}: must be >= 0; negative values are invalid and will be treated as 1`];
}

function podAffinityWarnings({ affinity }: PodSpec, path: Path): string[] {
  return (["podAffinity", "podAntiAffinity"] as const).flatMap((field) => {
    const required = "requiredDuringSchedulingIgnoredDuringExecution";
    const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const { [required]: needed = [], [preferred]: wished = [] } = affinity?.[field] ?? {};
    const at = path.child("affinity", field);
    const places = [
      ...needed.map((term, i) => ({ term, at: at.child(required).index(i) })),
      ...wished.map(({ podAffinityTerm }, i) => ({
        term: podAffinityTerm,
        at: at.child(preferred).index(i).child("podAffinityTerm"),
      })),
    ];
    return places
      .filter(({ term }) => term.labelSelector === undefined)
      .map((place) => `${place.at.child("labelSelector")}: ${NO_SELECTOR}`);
  });
}

function addressWarnings({ dnsConfig, hostAliases = [] }: PodSpec, path: Path): string[] {
  const servers = (dnsConfig?.nameservers ?? []).flatMap((server, i) =>
    ipWarnings(path.child("dnsConfig", "nameservers").index(i), server),
  );
  const aliases = hostAliases.flatMap(({ ip }, i) =>
    ipWarnings(path.child("hostAliases").index(i).child("ip"), ip),
  );
  return [...servers, ...aliases];
}
