/**
 * Every controller, in one table. What a controller needs beside the cluster itself comes from flags
 * and stands in ControllerOptions; one whose needs are not met is left out.
 */
import type { Controller } from "#runtime/controller.ts";
import type { ResourceSet } from "#runtime/resource-set.ts";
import { attachDetach } from "../attach-detach/attach-detach.ts";
import { bootstrapSigner, type Hmac } from "../bootstrap-tokens/bootstrap-signer.ts";
import { tokenCleaner } from "../bootstrap-tokens/token-cleaner.ts";
import { certificateApproving } from "../certificates/approving.ts";
import { certificateCleaner } from "../certificates/cleaner.ts";
import { type CertificateSigning, certificateSigning } from "../certificates/signing.ts";
import { clusterRoleAggregation } from "../cluster-role-aggregation.ts";
import { cronJobController } from "../cron-job/cron-job.ts";
import { daemonSetController } from "../daemon-set/daemon-set.ts";
import { deploymentController } from "../deployment/deployment.ts";
import { deviceTaintEviction } from "../device-taint-eviction.ts";
import { disruptionController } from "../disruption/disruption.ts";
import { staleDisruptionTargets } from "../disruption/stale-target.ts";
import { endpointSliceController } from "../endpoints/endpoint-slice.ts";
import { endpointsController } from "../endpoints/endpoints.ts";
import { endpointSliceMirroringController } from "../endpoints/mirroring.ts";
import { horizontalPodAutoscaler } from "../horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts";
import type { AutoscalerSettings } from "../horizontal-pod-autoscaler/settings.ts";
import { jobController } from "../job/job.ts";
import { namespaceController } from "../namespace.ts";
import { type NodeIpamOptions, nodeIpam } from "../node-ipam/node-ipam.ts";
import { type HealthOptions, nodeHealth } from "../node-lifecycle/health.ts";
import { type EvictionOptions, nodeEviction } from "../node-lifecycle/zones.ts";
import { type BinderOptions, persistentVolumeBinder } from "../persistent-volume/binder.ts";
import { defaultStorageClass } from "../persistent-volume/default-class.ts";
import { createPodGarbageCollector } from "../pod-garbage-collector.ts";
import { replicaSetController } from "../replica-set.ts";
import { replicationControllerController } from "../replication-controller.ts";
import { resourceClaims } from "../resource-claim/resource-claim.ts";
import { resourceQuotaController } from "../resource-quota.ts";
import { rootCaCertPublisher } from "../root-ca-cert-publisher.ts";
import { selinuxWarning } from "../selinux-warning/selinux-warning.ts";
import { serviceAccountController } from "../service-account.ts";
import { legacyTokenCleaner } from "../service-account-tokens/cleaner.ts";
import { type AccountTokens, serviceAccountTokens } from "../service-account-tokens/tokens.ts";
import { serviceCidrController } from "../service-cidr.ts";
import { statefulSetController } from "../stateful-set/stateful-set.ts";
import { storageVersionMigrator } from "../storage-version-migrator.ts";
import { taintEviction } from "../taint-eviction.ts";
import { ttlController } from "../ttl.ts";
import { ttlAfterFinished } from "../ttl-after-finished.ts";
import { validatingAdmissionPolicyStatus } from "../validating-admission-policy-status.ts";
import { attributesClassProtection } from "../volume/attributes-class-protection.ts";
import { claimProtection } from "../volume/claim-protection.ts";
import { ephemeralVolumes } from "../volume/ephemeral.ts";
import { volumeExpander } from "../volume/expander.ts";
import { volumeProtection } from "../volume/volume-protection.ts";

const ENDED_PODS_MAX = 12_500;

export interface ControllerOptions extends BinderOptions {
  /** PEM of the authority that signs the API server's certificate. */
  readonly rootCa?: string;
  /** Keys for certificate signing requests. */
  readonly certificateSigning?: CertificateSigning;
  /** For signatures with bootstrap tokens. */
  readonly hmac?: Hmac;
  readonly accountTokens?: AccountTokens;
  /** Legacy service account tokens that were not used for so long are cleaned up. */
  readonly legacyTokenUnusedMs?: number;
  readonly autoscalers?: AutoscalerSettings;
  readonly nodeHealth?: HealthOptions;
  readonly nodeIpam?: NodeIpamOptions;
  readonly nodeEviction?: EvictionOptions;
  /** How many pods that have ended may stay; zero for any number. */
  readonly endedPodsMax?: number;
  readonly endpointsPerSliceMax?: number;
  /** Of each subset of Endpoints. */
  readonly mirroredAddressesMax?: number;
  readonly quotaResyncMs?: number;
  /** Names of features that are off by default and on here. */
  readonly features?: readonly string[];
  /** What the server has, for quotas of resources that are not built in. */
  readonly resources?: ResourceSet;
}

// biome-ignore lint/suspicious/noExplicitAny: each controller has a state of its own
export type AnyController = Controller<any, any>;

/** Those that run only where they are asked for by name. */
export const optInControllers: readonly AnyController[] = [selinuxWarning];

export function builtInControllers(options: ControllerOptions): readonly AnyController[] {
  return [
    ...withNeeds(options),
    attachDetach,
    attributesClassProtection,
    certificateApproving,
    certificateCleaner,
    claimProtection,
    clusterRoleAggregation,
    cronJobController,
    daemonSetController,
    deploymentController,
    deviceTaintEviction,
    disruptionController,
    endpointsController,
    endpointSliceController(options.endpointsPerSliceMax),
    endpointSliceMirroringController(options.mirroredAddressesMax),
    ephemeralVolumes,
    horizontalPodAutoscaler(options.autoscalers),
    jobController,
    namespaceController,
    persistentVolumeBinder(options),
    createPodGarbageCollector(options.endedPodsMax ?? ENDED_PODS_MAX),
    replicaSetController,
    replicationControllerController,
    resourceClaims,
    resourceQuotaController(options.quotaResyncMs, options.resources),
    serviceAccountController,
    serviceCidrController,
    staleDisruptionTargets,
    statefulSetController,
    taintEviction,
    tokenCleaner,
    ttlAfterFinished,
    validatingAdmissionPolicyStatus,
    volumeExpander,
    ttlController,
    volumeProtection,
  ];
}

function withNeeds(options: ControllerOptions): readonly AnyController[] {
  return [
    ifGiven(options.hmac, bootstrapSigner),
    ifGiven(options.certificateSigning, certificateSigning),
    ifGiven(options.accountTokens, serviceAccountTokens),
    ifGiven(options.legacyTokenUnusedMs, legacyTokenCleaner),
    ifGiven(options.nodeHealth, nodeHealth),
    ifGiven(options.nodeEviction, nodeEviction),
    ifGiven(options.nodeIpam, nodeIpam),
    ifGiven(options.localVolumes, () => defaultStorageClass),
    ifGiven(options.rootCa, rootCaCertPublisher),
    options.features?.includes("StorageVersionMigrator") ? [storageVersionMigrator] : [],
  ].flat();
}

function ifGiven<Need>(
  need: Need | undefined,
  create: (need: Need) => AnyController,
): readonly AnyController[] {
  return need === undefined ? [] : [create(need)];
}
