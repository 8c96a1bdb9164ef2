/** Which built-in kinds are served: by --runtime-config and, where upstream has one, by a feature gate. Pure. */
import type { Kind } from "#api/kind.ts";
import { isStable } from "#apiserver/discovery/discovery.ts";
import type { ApiServerFlags } from "./flags/flags.ts";

/** Kinds that --runtime-config alone does not turn on, by group and plural. */
const GATES: Readonly<Record<string, string>> = {
  "certificates.k8s.io/clustertrustbundles": "ClusterTrustBundle",
  "certificates.k8s.io/podcertificaterequests": "PodCertificateRequest",
  "scheduling.k8s.io/podgroups": "GenericWorkload",
  "scheduling.k8s.io/workloads": "GenericWorkload",
  "storagemigration.k8s.io/storageversionmigrations": "StorageVersionMigrator",
};

export function isServed(
  { runtimeConfig, features }: Pick<ApiServerFlags, "runtimeConfig" | "features">,
  kind: Kind,
): boolean {
  const { plural } = kind.names;
  const gate = GATES[`${kind.group}/${plural}`];
  if (gate !== undefined && !features.includes(gate)) return false;
  const own = runtimeConfig[kind.apiVersion] ?? runtimeConfig[`${kind.apiVersion}/${plural}`];
  if (own !== undefined) return own;
  const stage = isStable(kind) ? "ga" : kind.version.includes("beta") ? "beta" : "alpha";
  return runtimeConfig[`api/${stage}`] ?? runtimeConfig["api/all"] ?? stage === "ga";
}
