/** Flags of upstream's controller manager that have no effect here. */
import { type AcceptedFlags, SERVER_FLAGS_WITHOUT_EFFECT } from "../flags/accepted-flags.ts";

export const UPSTREAM_FLAGS: AcceptedFlags = {
  withoutEffect: [
    ...SERVER_FLAGS_WITHOUT_EFFECT,
    ...["attach-detach-reconcile-sync-period", "disable-attach-detach-reconcile-sync"],
    ...["cloud-config", "cluster-name"],
    ...["configure-cloud-routes", "external-cloud-volume-plugin", "route-reconciliation-period"],
    ...["concurrent-service-syncs", "controller-shutdown-timeout", "min-compatibility-version"],
    ...["disable-force-detach-on-timeout"],
    ...["enable-dynamic-provisioning", "enable-hostpath-provisioner", "flex-volume-plugin-dir"],
  ],
  kept: {
    "cidr-allocator-type": /^(RangeAllocator)?$/,
    "cloud-provider": /^(external)?$/,
    "emulated-version": /^((kube=)?1\.36)?$/,
    "leader-elect-resource-lock": /^leases$/,
  },
};
