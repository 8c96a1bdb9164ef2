/**
 * What is allowed and yet most likely not meant, or on its way out. Each part appends what it has to
 * say to one list: most pods give no reason, and then nothing is made.
 */

import type { EnvVar, PodSpec, PodTemplateSpec, ResourceList } from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { isWhole } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { quantityOf } from "#api/meta/quantity.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { ipWarnings } from "#api/validation/ip.ts";
import type { Path } from "#api/validation/path.ts";
import { allContainers, placedContainers } from "./containers/containers.ts";
import { placementWarnings, podAffinityWarnings } from "./placement/placement-warnings.ts";
import { portWarnings } from "./port-warnings.ts";
import {
  APPARMOR_PREFIX,
  appArmorProfileOf,
  SECCOMP_POD,
  SECCOMP_PREFIX,
} from "./security/profiles.ts";
import { pathOverlapWarnings, volumeWarnings } from "./volumes/volume-warnings.ts";

const DEPRECATED_ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  [
    "scheduler.alpha.kubernetes.io/critical-pod",
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  ],
  [
    "security.alpha.kubernetes.io/sysctls",
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
  [
    "security.alpha.kubernetes.io/unsafe-sysctls",
    'non-functional in v1.11+; use the "sysctls" field instead',
  ],
]);

type Annotations = NonNullable<ObjectMeta["annotations"]>;
const NONE: readonly never[] = [];

const SECCOMP_GONE = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Where the parts of the object stand. */
interface Paths {
  readonly metadata: Path;
  readonly spec: Path;
}

export function podWarnings(metadata: ObjectMeta, spec: PodSpec, paths: Paths): string[] {
  const warnings: string[] = [];
  const { annotations } = metadata;
  placementWarnings(spec, paths.spec, warnings);
  if (annotations !== undefined) annotationWarnings(annotations, paths.metadata, warnings);
  volumeWarnings(spec, paths.spec, warnings);
  pathOverlapWarnings(spec, warnings);
  listWarnings(spec, paths.spec, warnings);
  if (spec.overhead !== undefined) {
    fractionWarnings(spec.overhead, paths.spec.child("overhead"), warnings);
  }
  if (annotations !== undefined) seccompWarnings(annotations, spec, paths.metadata, warnings);
  containerWarnings(spec, paths.spec, warnings);
  portWarnings(spec, paths.spec, warnings);
  graceWarnings(spec, paths.spec, warnings);
  if (spec.affinity !== undefined) podAffinityWarnings(spec.affinity, paths.spec, warnings);
  addressWarnings(spec, paths.spec, warnings);
  return warnings;
}

/** Warnings about annotations of templates; for pods they are issued when the annotation becomes a field. */
export function templateWarnings(template: PodTemplateSpec, path: Path): string[] {
  const metadata = template.metadata ?? {};
  const paths = { metadata: path.child("metadata"), spec: path.child("spec") };
  return [
    ...podWarnings(metadata, template.spec, paths),
    ...appArmorWarnings(metadata, template.spec, paths.metadata),
  ];
}

function annotationWarnings(annotations: Annotations, path: Path, warnings: string[]): void {
  for (const [key, message] of DEPRECATED_ANNOTATIONS) {
    if (annotations[key] === undefined) continue;
    warnings.push(`${path.child("annotations").key(key)}: ${message}`);
  }
}

function listWarnings(
  { hostAliases = NONE, imagePullSecrets = NONE }: PodSpec,
  path: Path,
  warnings: string[],
): void {
  if (hostAliases.length === 0 && imagePullSecrets.length === 0) return;
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
}

const IN_BYTES = ["memory", "ephemeral-storage"];

function fractionWarnings(list: ResourceList, path: Path, warnings: string[]): void {
  for (const name of IN_BYTES) {
    const amount = list[name];
    if (amount === undefined || isWhole(quantityOf(amount))) continue;
    warnings.push(
      `${path.key(name)}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`,
    );
  }
}

function seccompWarnings(
  annotations: Annotations,
  spec: PodSpec,
  path: Path,
  warnings: string[],
): void {
  const at = path.child("annotations");
  if (annotations[SECCOMP_POD] !== undefined && !spec.securityContext?.seccompProfile) {
    warnings.push(`${at.key(SECCOMP_POD)}: ${SECCOMP_GONE}`);
  }
  for (const { name, securityContext } of allContainers(spec)) {
    const key = `${SECCOMP_PREFIX}${name}`;
    if (annotations[key] === undefined || securityContext?.seccompProfile) continue;
    warnings.push(`${at.key(key)}: ${SECCOMP_GONE}`);
  }
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

function containerWarnings(spec: PodSpec, path: Path, warnings: string[]): void {
  for (const { container, path: at } of placedContainers(spec, path)) {
    const { env } = container;
    const { limits, requests } = container.resources;
    if (limits !== undefined) fractionWarnings(limits, at.child("resources", "limits"), warnings);
    if (requests !== undefined) {
      fractionWarnings(requests, at.child("resources", "requests"), warnings);
    }
    if (env !== undefined && env.length > 1) envWarnings(env, at.child("env"), warnings);
  }
}

/** A second definition is fine only if it builds on the first: `X="$(X)…"`. */
function envWarnings(vars: readonly EnvVar[], path: Path, warnings: string[]): void {
  const seen = new Set<string>();
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
}

function graceWarnings(
  { terminationGracePeriodSeconds = 0 }: PodSpec,
  path: Path,
  warnings: string[],
): void {
  if (terminationGracePeriodSeconds >= 0) return;
  const at = path.child("terminationGracePeriodSeconds");
  warnings.push(`${at}: must be >= 0; negative values are invalid and will be treated as 1`);
}

function addressWarnings(
  { dnsConfig, hostAliases = NONE }: PodSpec,
  path: Path,
  warnings: string[],
): void {
  for (const [i, server] of (dnsConfig?.nameservers ?? NONE).entries()) {
    warnings.push(...ipWarnings(path.child("dnsConfig", "nameservers").index(i), server));
  }
  for (const [i, { ip }] of hostAliases.entries()) {
    warnings.push(...ipWarnings(path.child("hostAliases").index(i).child("ip"), ip));
  }
}
