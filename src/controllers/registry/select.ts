/** Which controllers run: what `--controllers` asks for. */
import type { AnyController } from "./controllers.ts";

/** Every name that the flag may have, with the old one that it had before, if any. */
const NAMES: Readonly<Record<string, string | undefined>> = {
  "bootstrap-signer-controller": "bootstrapsigner",
  "certificatesigningrequest-approving-controller": "csrapproving",
  "certificatesigningrequest-cleaner-controller": "csrcleaner",
  "certificatesigningrequest-signing-controller": "csrsigning",
  "cloud-node-lifecycle-controller": "cloud-node-lifecycle",
  "clusterrole-aggregation-controller": "clusterrole-aggregation",
  "cronjob-controller": "cronjob",
  "daemonset-controller": "daemonset",
  "default-storageclass-controller": undefined,
  "deployment-controller": "deployment",
  "device-taint-eviction-controller": undefined,
  "disruption-controller": "disruption",
  "endpoints-controller": "endpoint",
  "endpointslice-controller": "endpointslice",
  "endpointslice-mirroring-controller": "endpointslicemirroring",
  "ephemeral-volume-controller": "ephemeral-volume",
  "garbage-collector-controller": "garbagecollector",
  "horizontal-pod-autoscaler-controller": "horizontalpodautoscaling",
  "job-controller": "job",
  "kube-apiserver-serving-clustertrustbundle-publisher-controller": undefined,
  "legacy-serviceaccount-token-cleaner-controller": "legacy-service-account-token-cleaner",
  "namespace-controller": "namespace",
  "node-ipam-controller": "nodeipam",
  "node-lifecycle-controller": "nodelifecycle",
  "node-route-controller": "route",
  "persistentvolume-attach-detach-controller": "attachdetach",
  "persistentvolume-binder-controller": "persistentvolume-binder",
  "persistentvolume-expander-controller": "persistentvolume-expander",
  "persistentvolume-protection-controller": "pv-protection",
  "persistentvolumeclaim-protection-controller": "pvc-protection",
  "pod-garbage-collector-controller": "podgc",
  "podcertificaterequest-cleaner-controller": undefined,
  "podgroup-protection-controller": undefined,
  "replicaset-controller": "replicaset",
  "replicationcontroller-controller": "replicationcontroller",
  "resourceclaim-controller": "resource-claim-controller",
  "resourcepoolstatusrequest-controller": undefined,
  "resourcequota-controller": "resourcequota",
  "root-ca-certificate-publisher-controller": "root-ca-cert-publisher",
  "selinux-warning-controller": undefined,
  "service-cidr-controller": undefined,
  "service-lb-controller": "service",
  "serviceaccount-controller": "serviceaccount",
  "serviceaccount-token-controller": "serviceaccount-token",
  "statefulset-controller": "statefulset",
  "storage-version-migrator-controller": "svm",
  "storageversion-garbage-collector-controller": "storage-version-gc",
  "taint-eviction-controller": undefined,
  "token-cleaner-controller": "tokencleaner",
  "ttl-after-finished-controller": "ttl-after-finished",
  "ttl-controller": "ttl",
  "validatingadmissionpolicy-status-controller": undefined,
  "volumeattributesclass-protection-controller": undefined,
};

/** Off by default, as upstream: the bootstrap token controllers and the SELinux warnings. */
const OFF_BY_DEFAULT: ReadonlySet<string> = new Set([
  "bootstrap-signer-controller",
  "selinux-warning-controller",
  "token-cleaner-controller",
]);

const GATED = "its feature is off in this version";
const CLOUD = "it is for the cloud controller manager";

/** Names that are taken, as upstream's manager does, and start nothing. */
const NEVER_HERE: Readonly<Record<string, string>> = {
  "cloud-node-lifecycle-controller": CLOUD,
  "kube-apiserver-serving-clustertrustbundle-publisher-controller": GATED,
  "node-route-controller": CLOUD,
  "podcertificaterequest-cleaner-controller": GATED,
  "podgroup-protection-controller": GATED,
  "resourcepoolstatusrequest-controller": GATED,
  "service-lb-controller": CLOUD,
  "storage-version-migrator-controller": GATED,
  "storageversion-garbage-collector-controller": GATED,
};

/** For the help: every name, and those that `*` does not mean. */
export const controllerNames: readonly string[] = Object.keys(NAMES);
export const offByDefault: readonly string[] = [...OFF_BY_DEFAULT];

/** Why a controller that was asked for by name does not run. */
export function whyAbsent(name: string): string {
  return NEVER_HERE[name] ?? "a flag that it needs is missing";
}

export interface Selection {
  has(name: string): boolean;
  /** Names that mean nothing: an error, so that a slip does not go unnoticed. */
  readonly unknown: readonly string[];
  /** Those that were asked for by name. */
  readonly named: readonly string[];
}

/** `*` is all that are on by default, `name` adds one, `-name` takes one away; the first counts. */
export function selectionOf(asked: readonly string[]): Selection {
  const renamed = new Map(
    Object.entries(NAMES).flatMap(([name, old]) => (old ? [[old, name]] : [])),
  );
  const terms = asked.map((text) => {
    const isOff = text.startsWith("-");
    const name = isOff ? text.slice(1) : text;
    return { isOff, text, name: renamed.get(name) ?? name };
  });
  const unknown = terms.filter(({ name }) => name !== "*" && !Object.hasOwn(NAMES, name));
  return {
    named: terms.filter(({ isOff, name }) => !isOff && name !== "*").map(({ name }) => name),
    unknown: unknown.map(({ text }) => text.replace(/^-/, "")),
    has: (name) => {
      const term = terms.find((one) => one.name === name);
      if (term !== undefined) return !term.isOff;
      return terms.some((one) => one.name === "*") && !OFF_BY_DEFAULT.has(name);
    },
  };
}

export function selectControllers(
  controllers: readonly AnyController[],
  selection: Selection,
): readonly AnyController[] {
  return controllers.filter(({ name }) => selection.has(name));
}
