/** Claims and ingresses that name no class get the default one: the newest that is marked so. */

import type { KubeObject } from "#api/kind.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { success } from "#api/meta/status.ts";
import { withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { objectOfKind } from "../requests.ts";

const DEFAULT_STORAGE = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];
const DEFAULT_INGRESS = ["ingressclass.kubernetes.io/is-default-class"];

export const defaultStorageClass: AdmissionPlugin = {
  name: "DefaultStorageClass",
  operations: ["CREATE"],
  admit(request, { objects }) {
    const claim = objectOfKind(request, persistentVolumeClaimKind, ["CREATE"]);
    if (claim === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] !== undefined)
      return;
    const name = newestMarked(objects.list(storageClassKind), DEFAULT_STORAGE);
    return name === undefined ? undefined : success(withSpec(claim, { storageClassName: name }));
  },
};

export const defaultIngressClass: AdmissionPlugin = {
  name: "DefaultIngressClass",
  operations: ["CREATE"],
  admit(request, { objects }) {
    const ingress = objectOfKind(request, ingressKind, ["CREATE"]);
    if (ingress === undefined || ingress.spec.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
    const name = newestMarked(objects.list(ingressClassKind), DEFAULT_INGRESS);
    return name === undefined ? undefined : success(withSpec(ingress, { ingressClassName: name }));
  },
};

function newestMarked(
  classes: Iterable<KubeObject>,
  annotations: readonly string[],
): string | undefined {
  const marked = [...classes].filter(({ metadata }) =>
    annotations.some((annotation) => metadata.annotations?.[annotation] === "true"),
  );
  const age = ({ metadata }: KubeObject): string => metadata.creationTimestamp ?? "";
  marked.sort((a, b) =>
    age(a) === age(b)
      ? (a.metadata.name ?? "").localeCompare(b.metadata.name ?? "", "en")
      : age(a) < age(b)
        ? 1
        : -1,
  );
  return marked[0]?.metadata.name;
}
