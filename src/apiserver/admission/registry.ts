/**
 * The admission plug-ins in the order in which they run, and which of them run unless flags say
 * otherwise. Webhooks and policies stand near the end, where their places are marked: they see what
 * the built-in plug-ins made of an object, and quota counts what they let through.
 */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./certificates.ts";
import { persistentVolumeClaimResize } from "./claim-resize.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds, type TolerationSeconds } from "./default-toleration-seconds.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeRestriction } from "./node-restriction.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { podResizeValidator } from "./pod-resize.ts";
import { podSecurity } from "./pod-security/pod-security.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { priority } from "./priority.ts";
import { resourceQuota } from "./resource-quota.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { storageObjectInUseProtection } from "./storage-protection.ts";
import { taintNodesByCondition } from "./taint-nodes.ts";

export interface AdmissionDependencies {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly random: Random;
  readonly tolerationSeconds: TolerationSeconds;
  /** Mutating webhooks and policies. */
  readonly mutating: readonly AdmissionPlugin[];
  /** Validating webhooks and policies. */
  readonly validating: readonly AdmissionPlugin[];
}

export interface AdmissionChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/** Throws on a name that is none, so that a misspelt flag stops the start. */
export function admissionPlugins(
  dependencies: AdmissionDependencies,
  { enable, disable }: AdmissionChoice,
): AdmissionPlugin[] {
  const { authorizer, tolerationSeconds, mutating, validating } = dependencies;
  const table: readonly AdmissionPlugin[] = [
    namespaceLifecycle,
    limitRanger,
    serviceAccount(dependencies),
    nodeRestriction(authorizer),
    taintNodesByCondition,
    podSecurity,
    priority,
    defaultTolerationSeconds(tolerationSeconds),
    defaultStorageClass,
    storageObjectInUseProtection,
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass,
    podTopologyLabels,
    podResizeValidator,
    ...mutating,
    ...validating,
    resourceQuota(),
  ];
  const known = new Set(table.map(({ name }) => name));
  for (const name of [...enable, ...disable]) {
    if (!known.has(name)) throw new Error(`admission-control plugin "${name}" is unknown`);
  }
  return table.filter(({ name }) => enable.includes(name) || !disable.includes(name));
}
