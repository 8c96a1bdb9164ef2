/**
 * What belongs to an object: collections that are followed for it (the pods of a Deployment, of a node, of a
 * Service) and objects that its fields name. Pure.
 */
import type { KubeObject } from "./kube-object.ts";
import { listOf, type Members, membersOf } from "./members.ts";
import type { Resource } from "./resources.ts";

export interface RelatedCollection {
  readonly title: string;
  readonly group: string;
  readonly plural: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only objects with an owner reference to it. */
  readonly ownerUid?: string;
}

export interface Reference {
  readonly group: string;
  readonly kind: string;
  /** Empty: of the cluster, if the kind has no namespaces. */
  readonly namespace: string;
  readonly name: string;
}

const PODS = { title: "Pods", group: "", plural: "pods" };
const OWNERS_OF_PODS: ReadonlySet<string> = new Set([
  "apps/deployments",
  "apps/replicasets",
  "apps/statefulsets",
  "apps/daemonsets",
  "batch/jobs",
  "policy/poddisruptionbudgets",
]);

export function relatedCollections(
  { group, plural }: Pick<Resource, "group" | "plural">,
  object: KubeObject,
): readonly RelatedCollection[] {
  const { name, uid = "" } = object.metadata;
  const id = `${group}/${plural}`;
  const labelSelector = selectorText(object.spec?.selector);
  if (OWNERS_OF_PODS.has(id) && labelSelector !== "") {
    const replicaSets = { title: "ReplicaSets", group: "apps", plural: "replicasets" };
    const pods = { ...PODS, labelSelector };
    return id === "apps/deployments"
      ? [{ ...replicaSets, labelSelector, ownerUid: uid }, pods]
      : [pods];
  }
  switch (id) {
    case "batch/cronjobs":
      return [{ title: "Jobs", group: "batch", plural: "jobs", ownerUid: uid }];
    case "/nodes":
      return [{ ...PODS, fieldSelector: `spec.nodeName=${name}` }];
    case "/services": {
      const slices = {
        title: "EndpointSlices",
        group: "discovery.k8s.io",
        plural: "endpointslices",
      };
      const selected = labelsText(object.spec?.selector).join(",");
      return [
        { ...slices, labelSelector: `kubernetes.io/service-name=${name}` },
        ...(selected === "" ? [] : [{ ...PODS, labelSelector: selected }]),
      ];
    }
    default:
      return [];
  }
}

/** Each once, in the order in which the object names them. */
export function referencesOf(object: KubeObject): readonly Reference[] {
  const { spec = {}, metadata } = object;
  const { namespace = "" } = metadata;
  const found = new Map<string, Reference>();
  const add = (group: string, kind: string, name: unknown, inNamespace = namespace): void => {
    if (typeof name !== "string" || name === "") return;
    found.set(`${group}/${kind}/${inNamespace}/${name}`, {
      group,
      kind,
      namespace: inNamespace,
      name,
    });
  };
  switch (object.kind) {
    case "Pod":
      add("", "Node", spec.nodeName, "");
      add("", "ServiceAccount", spec.serviceAccountName);
      for (const volume of listOf(spec.volumes)) {
        add("", "PersistentVolumeClaim", membersOf(volume.persistentVolumeClaim).claimName);
        add("", "ConfigMap", membersOf(volume.configMap).name);
        add("", "Secret", membersOf(volume.secret).secretName);
      }
      break;
    case "Ingress":
      add("networking.k8s.io", "IngressClass", spec.ingressClassName, "");
      for (const { service } of backendsOf(spec)) add("", "Service", membersOf(service).name);
      for (const { secretName } of listOf(spec.tls)) add("", "Secret", secretName);
      break;
    case "PersistentVolumeClaim":
      add("", "PersistentVolume", spec.volumeName, "");
      add("storage.k8s.io", "StorageClass", spec.storageClassName, "");
      break;
    case "PersistentVolume": {
      const claim = membersOf(spec.claimRef);
      add("", "PersistentVolumeClaim", claim.name, String(claim.namespace));
      add("storage.k8s.io", "StorageClass", spec.storageClassName, "");
      break;
    }
    case "StatefulSet":
      add("", "Service", spec.serviceName);
      break;
    case "HorizontalPodAutoscaler": {
      const { apiVersion, kind, name } = membersOf(spec.scaleTargetRef);
      const [group = ""] = String(apiVersion).includes("/") ? String(apiVersion).split("/") : [];
      add(group, String(kind), name);
      break;
    }
  }
  return [...found.values()];
}

function backendsOf(spec: Members): readonly Members[] {
  const paths = listOf(spec.rules).flatMap(({ http }) => listOf(membersOf(http).paths));
  return [spec.defaultBackend, ...paths.map(({ backend }) => backend)].map(membersOf);
}

/** A LabelSelector as requests have it; empty for what selects nothing, or everything. */
function selectorText(selector: unknown): string {
  const { matchLabels, matchExpressions } = membersOf(selector);
  const expressions = listOf(matchExpressions).map(({ key, operator, values }) => {
    const listed = Array.isArray(values) ? values.join(",") : "";
    switch (operator) {
      case "Exists":
        return String(key);
      case "DoesNotExist":
        return `!${String(key)}`;
      default:
        return `${String(key)} ${String(operator).toLowerCase()} (${listed})`;
    }
  });
  return [...labelsText(matchLabels), ...expressions].join(",");
}

function labelsText(labels: unknown): readonly string[] {
  return Object.entries(membersOf(labels)).map(([key, value]) => `${key}=${String(value)}`);
}
