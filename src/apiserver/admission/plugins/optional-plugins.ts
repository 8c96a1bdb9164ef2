/** Plug-ins that are off by default. */

import type { Container, Service } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { isExtendedResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { failure, notFoundStatus, success } from "#api/meta/status.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withFields, withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { isOf, objectOfKind } from "../requests.ts";

export const alwaysAdmit: AdmissionPlugin = { name: "AlwaysAdmit" };

export const alwaysDeny: AdmissionPlugin = {
  name: "AlwaysDeny",
  admit: (request) => failure(refuse(request, "admission control is denying all modifications")),
};

/** Pulls the image for every start of a pod, so that its pull secrets are checked each time. */
export const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  operations: ["CREATE", "UPDATE"],
  admit(request) {
    const pod = objectOfKind(request, podKind, ["CREATE"]);
    if (pod === undefined) return;
    const { initContainers, containers, ephemeralContainers, volumes } = pod.spec;
    const pulled = volumes?.map((volume) =>
      volume.image === undefined
        ? volume
        : withFields(volume, { image: withFields(volume.image, { pullPolicy: "Always" }) }),
    );
    return success(
      withSpec(pod, {
        ...(initContainers && { initContainers: pulledAlways(initContainers) }),
        ...(containers && { containers: pulledAlways(containers) }),
        ...(ephemeralContainers && { ephemeralContainers: pulledAlways(ephemeralContainers) }),
        ...(pulled && { volumes: pulled }),
      }),
    );
  },
};

export const namespaceAutoProvision: AdmissionPlugin = {
  name: "NamespaceAutoProvision",
  operations: ["CREATE"],
  admit(request, { objects }) {
    const { namespace, operation, dryRun } = request;
    if (operation !== "CREATE" || dryRun || !isNamespaced(request)) return;
    if (objects.get(namespaceKind, "", namespace) !== undefined) return;
    const labels = { "kubernetes.io/metadata.name": namespace };
    const made = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    };
    return objects.create(namespaceKind, made).then((result) => {
      if (result.ok || result.status.reason === "AlreadyExists") return undefined;
      return failure(refuse(request, result.status.message ?? ""));
    });
  },
};

export const namespaceExists: AdmissionPlugin = {
  name: "NamespaceExists",
  operations: ["CREATE", "UPDATE", "DELETE"],
  validate(request, { objects }) {
    const { namespace } = request;
    if (!isNamespaced(request) || objects.get(namespaceKind, "", namespace)) return;
    return notFoundStatus({ group: "", resource: "namespaces" }, namespace);
  },
};

export const denyServiceExternalIps: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  operations: ["CREATE", "UPDATE"],
  validate(request) {
    const service = objectOfKind(request, serviceKind, ["CREATE", "UPDATE"]);
    if (service === undefined) return;
    const known = (request.old as Service | undefined)?.spec.externalIPs ?? [];
    const added = service.spec.externalIPs?.some((address) => !known.includes(address));
    if (!added) return;
    return refuse(request, "Use of external IPs is denied by admission control");
  },
};

/** Adds tolerations for the taints of nodes with extended resources that the pod requests. */
export const extendedResourceToleration: AdmissionPlugin = {
  name: "ExtendedResourceToleration",
  operations: ["CREATE", "UPDATE"],
  admit(request) {
    const pod = objectOfKind(request, podKind, ["CREATE", "UPDATE"]);
    if (pod === undefined) return;
    const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])];
    const asked = containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
    const names = [...new Set(asked.filter(isExtendedResource))].sort();
    const given = pod.spec.tolerations ?? [];
    const added = names
      .map((key) => ({ key, operator: "Exists", effect: "NoSchedule" }))
      .filter(
        ({ key }) =>
          !given.some(
            (one) => one.key === key && one.operator === "Exists" && one.effect === "NoSchedule",
          ),
      );
    return added.length === 0
      ? undefined
      : success(withSpec(pod, { tolerations: [...given, ...added] }));
  },
};

const HOSTNAME = "kubernetes.io/hostname";

export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: "LimitPodHardAntiAffinityTopology",
  operations: ["CREATE", "UPDATE"],
  validate(request) {
    const pod = objectOfKind(request, podKind, ["CREATE", "UPDATE"]);
    const terms =
      pod?.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const other = terms.find(({ topologyKey }) => topologyKey !== HOSTNAME);
    if (other === undefined) return;
    return refuse(
      request,
      "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey " +
        `${other.topologyKey} but only key ${HOSTNAME} is allowed`,
    );
  },
};

function isNamespaced({ namespace, kind }: AdmissionRequest): boolean {
  return namespace !== "" && !isOf(kind, "", "namespaces");
}

function pulledAlways<T extends Pick<Container, "imagePullPolicy">>(containers: readonly T[]): T[] {
  return containers.map((container) => ({ ...container, imagePullPolicy: "Always" }));
}
