/**
 * Which rules hold for a pod spec. New specs meet them all. An update must not fail for what an
 * earlier server let pass, so each leniency is granted only if the stored object needs it.
 */
import type { Affinity, PodAffinityTerm, PodSpec } from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { isLabelValue } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { deletionCostOf } from "./annotations.ts";
import { allContainers, isSidecar } from "./containers/containers.ts";
import { isHugePagesMultiple } from "./containers/resources.ts";
import { validateMatchLabelKeys } from "./placement/match-label-keys.ts";
import { hostSysctlFault } from "./security/sysctls.ts";
import { isLocalPath } from "./volumes/local-path.ts";

export interface PodRules {
  /** The spec is that of a pod, not of a template. */
  readonly isPod: boolean;
  readonly allowPrivileged: boolean;
  readonly allowInvalidDeletionCost: boolean;
  readonly allowInvalidLabelValueInSelector: boolean;
  readonly allowInvalidLabelValueInNodeAffinity: boolean;
  readonly allowInvalidSpreadSelector: boolean;
  readonly allowLegacySpreadKeys: boolean;
  readonly allowPartialHugePages: boolean;
  readonly allowNonLocalTokenPath: boolean;
  readonly allowHostSysctls: boolean;
  readonly allowAnySeLinuxChangePolicy: boolean;
  readonly allowComparingTolerations: boolean;
  readonly allowHostNetworkWithUserNamespace: boolean;
  readonly allowDevicesWithUserNamespace: boolean;
  readonly allowRestartOnInitResize: boolean;
}

/** What is there before an update, of a pod or of a template. */
interface Stored {
  readonly metadata?: ObjectMeta;
  readonly spec: PodSpec;
}

export function podRules(
  { allowPrivileged = false }: RuleContext,
  stored: Stored | undefined,
  isPod = false,
): PodRules {
  const old = stored?.spec;
  return {
    isPod,
    allowPrivileged,
    allowInvalidDeletionCost:
      stored !== undefined && deletionCostOf(stored.metadata?.annotations) === undefined,
    allowInvalidLabelValueInSelector: old !== undefined && hasInvalidAffinitySelector(old.affinity),
    allowInvalidLabelValueInNodeAffinity: old !== undefined && hasInvalidNodeAffinityValue(old),
    allowInvalidSpreadSelector: old !== undefined && hasInvalidSpreadSelector(old),
    allowLegacySpreadKeys: old !== undefined && hasInvalidSpreadKeys(old),
    allowPartialHugePages: old !== undefined && hasPartialHugePages(old),
    allowNonLocalTokenPath: old !== undefined && hasNonLocalTokenPath(old),
    allowHostSysctls: old !== undefined && hasHostSysctl(old),
    allowAnySeLinuxChangePolicy: old?.securityContext?.seLinuxChangePolicy !== undefined,
    allowComparingTolerations: old !== undefined && comparesTolerations(old),
    allowHostNetworkWithUserNamespace: old?.hostUsers === false && old.hostNetwork === true,
    allowDevicesWithUserNamespace: old?.hostUsers === false && usesVolumeDevices(old),
    allowRestartOnInitResize: old !== undefined && restartsInitOnResize(old),
  };
}

const NOWHERE = Path.of("");

function hasInvalidAffinitySelector(affinity: Affinity | undefined): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((rules) => {
    const preferred = rules?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const required = rules?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    return [...required, ...preferred.map(({ podAffinityTerm }) => podAffinityTerm)].some(
      hasInvalidSelector,
    );
  });
}

function hasInvalidSelector({ labelSelector, namespaceSelector }: PodAffinityTerm): boolean {
  return [labelSelector, namespaceSelector].some(
    (selector) => validateLabelSelector(selector, {}, NOWHERE).length > 0,
  );
}

function hasInvalidNodeAffinityValue({ affinity }: PodSpec): boolean {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (required?.nodeSelectorTerms ?? []).some(({ matchExpressions = [] }) =>
    matchExpressions.some(({ values = [] }) =>
      values.some((value) => isLabelValue(value).length > 0),
    ),
  );
}

function hasInvalidSpreadSelector({ topologySpreadConstraints = [] }: PodSpec): boolean {
  return topologySpreadConstraints.some(
    ({ labelSelector }) => validateLabelSelector(labelSelector, {}, NOWHERE).length > 0,
  );
}

function hasInvalidSpreadKeys({ topologySpreadConstraints = [] }: PodSpec): boolean {
  return topologySpreadConstraints.some(
    (constraint) => validateMatchLabelKeys(constraint, NOWHERE).length > 0,
  );
}

function hasPartialHugePages(spec: PodSpec): boolean {
  const lists = allContainers(spec).flatMap(({ resources }) => [
    resources.limits,
    resources.requests,
  ]);
  return [...lists, spec.overhead].some((list) =>
    Object.entries(list ?? {}).some(([name, amount]) => !isHugePagesMultiple(name, amount)),
  );
}

function hasNonLocalTokenPath({ volumes = [] }: PodSpec): boolean {
  return volumes.some(({ projected }) =>
    (projected?.sources ?? []).some(
      ({ serviceAccountToken }) =>
        serviceAccountToken !== undefined && !isLocalPath(serviceAccountToken.path),
    ),
  );
}

function hasHostSysctl(spec: PodSpec): boolean {
  return (spec.securityContext?.sysctls ?? []).some(
    ({ name }) => hostSysctlFault(name, spec) !== undefined,
  );
}

function comparesTolerations({ tolerations = [] }: PodSpec): boolean {
  return tolerations.some(({ operator }) => operator === "Lt" || operator === "Gt");
}

function usesVolumeDevices(spec: PodSpec): boolean {
  return allContainers(spec).some(({ volumeDevices = [] }) => volumeDevices.length > 0);
}

function restartsInitOnResize({ initContainers = [] }: PodSpec): boolean {
  return initContainers.some(
    (container) =>
      !isSidecar(container) &&
      (container.resizePolicy ?? []).some(
        ({ restartPolicy }) => restartPolicy === "RestartContainer",
      ),
  );
}
