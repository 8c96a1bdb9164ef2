/**
 * The admission plug-ins in the order in which they run, and which of them run unless flags say
 * otherwise. Webhooks and policies stand near the end, where their places are marked: they see what
 * the built-in plug-ins made of an object, and quota counts what they let through.
 */
import type { Kind } from "#api/kind.ts";
import { messageOf } from "#lib/caught.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import type { PluginConfigurations } from "./configuration.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./plugins/certificates.ts";
import { persistentVolumeClaimResize } from "./plugins/claim-resize.ts";
import { defaultIngressClass, defaultStorageClass } from "./plugins/default-classes.ts";
import {
  defaultTolerationSeconds,
  type TolerationSeconds,
} from "./plugins/default-toleration-seconds.ts";
import { eventRateLimit } from "./plugins/event-rate-limit.ts";
import { imagePolicyWebhook, type OpenWebhook } from "./plugins/image-policy.ts";
import { limitRanger } from "./plugins/limit-ranger.ts";
import { namespaceLifecycle } from "./plugins/namespace-lifecycle.ts";
import { nodeDeclaredFeatureValidator } from "./plugins/node/node-declared-features.ts";
import { nodeRestriction } from "./plugins/node/node-restriction.ts";
import { taintNodesByCondition } from "./plugins/node/taint-nodes.ts";
import {
  alwaysAdmit,
  alwaysDeny,
  alwaysPullImages,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
  namespaceAutoProvision,
  namespaceExists,
} from "./plugins/optional-plugins.ts";
import { ownerReferencesPermissionEnforcement } from "./plugins/owner-references.ts";
import { podNodeSelector } from "./plugins/pod-node-selector.ts";
import { podResizeValidator } from "./plugins/pod-resize.ts";
import { podSecurity } from "./plugins/pod-security/pod-security.ts";
import { podTolerationRestriction } from "./plugins/pod-toleration-restriction.ts";
import { podTopologyLabels } from "./plugins/pod-topology-labels.ts";
import { priority } from "./plugins/priority.ts";
import { resourceQuota } from "./plugins/quota/resource-quota.ts";
import { runtimeClass } from "./plugins/runtime-class.ts";
import { serviceAccount } from "./plugins/service-account.ts";
import { storageObjectInUseProtection } from "./plugins/storage-protection.ts";

export interface AdmissionDependencies {
  readonly authorizer: Authorizer;
  /** Names of features that are off by default and on here. */
  readonly features?: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly tolerationSeconds: TolerationSeconds;
  /** Mutating webhooks and policies. */
  readonly mutating: readonly AdmissionPlugin[];
  /** Validating webhooks and policies. */
  readonly validating: readonly AdmissionPlugin[];
  /** Every kind there is. */
  findKind(apiVersion: string, kind: string): Kind | undefined;
  readonly configurations?: PluginConfigurations;
  readonly openWebhook?: OpenWebhook;
}

export interface AdmissionChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/** Of upstream's default ones, those whose feature is off in this version: there to be named by flags. */
const WITHOUT_EFFECT: readonly string[] = [
  "ClusterTrustBundleAttest",
  "JobValidation",
  "PodGroupProtection",
  "PodGroupWorkloadExists",
];
/** The names under which flags speak of the two places. */
const WEBHOOKS_AND_POLICIES: readonly string[] = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
];

/** Throws on an unknown name, so that a misspelt flag stops the start. */
export function admissionPlugins(
  dependencies: AdmissionDependencies,
  { enable, disable }: AdmissionChoice,
): AdmissionPlugin[] {
  const table = allPlugins(dependencies);
  const known = new Set([
    ...table.map(({ name }) => name),
    ...WITHOUT_EFFECT,
    ...WEBHOOKS_AND_POLICIES,
  ]);
  for (const [flag, names] of [
    ["enable-admission-plugins", enable],
    ["disable-admission-plugins", disable],
  ] as const) {
    const unknown = names.find((name) => !known.has(name));
    if (unknown !== undefined) throw new Error(`${flag} plugin "${unknown}" is unknown`);
  }
  const both = [...new Set(enable.filter((name) => disable.includes(name)))].sort();
  if (both.length > 0) {
    throw new Error(
      `[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`,
    );
  }
  return table
    .filter(({ name }) =>
      OFF_BY_DEFAULT.has(name) ? enable.includes(name) : !disable.includes(name),
    )
    .map((entry) => ("make" in entry ? entry.make() : entry));
}

const OFF_BY_DEFAULT: ReadonlySet<string> = new Set([
  "AlwaysAdmit",
  "AlwaysDeny",
  "AlwaysPullImages",
  "DenyServiceExternalIPs",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "ImagePolicyWebhook",
  "LimitPodHardAntiAffinityTopology",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "OwnerReferencesPermissionEnforcement",
  "PodNodeSelector",
  "PodTolerationRestriction",
]);

/** Made only if it is wanted, since its configuration may be wrong or missing. */
interface Configured {
  readonly name: string;
  make(): AdmissionPlugin;
}

function allPlugins(
  dependencies: AdmissionDependencies,
): readonly (AdmissionPlugin | Configured)[] {
  const { authorizer, tolerationSeconds, mutating, validating, clock } = dependencies;
  const { openWebhook } = dependencies;
  const configured = (
    name: string,
    make: (configuration: unknown) => AdmissionPlugin,
  ): Configured => ({
    name,
    make() {
      try {
        return make(dependencies.configurations?.[name]);
      } catch (error) {
        const message = messageOf(error);
        throw new Error(`couldn't init admission plugin "${name}": ${message}`);
      }
    },
  });
  return [
    alwaysAdmit,
    namespaceAutoProvision,
    namespaceLifecycle,
    namespaceExists,
    limitPodHardAntiAffinityTopology,
    limitRanger,
    serviceAccount(dependencies),
    nodeRestriction(authorizer, dependencies.features),
    taintNodesByCondition,
    alwaysPullImages,
    configured("ImagePolicyWebhook", (given) => imagePolicyWebhook(given, clock, openWebhook)),
    configured("PodSecurity", podSecurity),
    configured("PodNodeSelector", podNodeSelector),
    priority,
    defaultTolerationSeconds(tolerationSeconds),
    configured("PodTolerationRestriction", podTolerationRestriction),
    configured("EventRateLimit", (given) => eventRateLimit(given, clock)),
    extendedResourceToleration,
    defaultStorageClass,
    storageObjectInUseProtection,
    ownerReferencesPermissionEnforcement(authorizer, dependencies.findKind),
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction,
    defaultIngressClass,
    denyServiceExternalIps,
    podTopologyLabels,
    nodeDeclaredFeatureValidator,
    podResizeValidator,
    ...mutating,
    ...validating,
    configured("ResourceQuota", resourceQuota),
    alwaysDeny,
  ];
}
