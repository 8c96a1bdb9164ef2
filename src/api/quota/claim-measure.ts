/** What PersistentVolumeClaims cost: themselves and the storage they ask for, in all and by class. */
import type { PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import {
  compareQuantities,
  formatQuantity,
  quantityFrom,
  quantityOf,
  quantityValue,
} from "#api/meta/quantity.ts";
import { type Measure, selects } from "./measure.ts";

const CLAIM_COUNT = "count/persistentvolumeclaims";
const CLASS_SUFFIX = ".storageclass.storage.k8s.io/";

export const claimMeasure: Measure = {
  covers: (resource) => {
    const name = resource.split(CLASS_SUFFIX).at(-1)!;
    return (
      resource === CLAIM_COUNT || name === "persistentvolumeclaims" || name === "requests.storage"
    );
  },
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const { annotations } = claim.metadata;
    const storageClass =
      annotations?.["volume.beta.kubernetes.io/storage-class"] ?? claim.spec.storageClassName ?? "";
    const amounts: Record<string, string> = { persistentvolumeclaims: "1" };
    const storage = claimedStorage(claim);
    if (storage !== undefined) amounts["requests.storage"] = storage;
    const byClass = Object.entries(amounts).map(([name, amount]) => [
      `${storageClass}${CLASS_SUFFIX}${name}`,
      amount,
    ]);
    return {
      [CLAIM_COUNT]: "1",
      ...amounts,
      ...(storageClass === "" ? {} : Object.fromEntries(byClass)),
    };
  },
  changesWith: (subresource, next, old) =>
    subresource === "" ||
    (subresource === "status" &&
      statusCosts(next as PersistentVolumeClaim) !== statusCosts(old as PersistentVolumeClaim)),
  inScope(object, scope) {
    if (scope.scopeName !== "VolumeAttributesClass") return false;
    return selects(scope, attributeClasses(object as PersistentVolumeClaim));
  },
};

/** Every class that the claim has, wants or is on its way to. */
function attributeClasses({ spec, status }: PersistentVolumeClaim): string[] {
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ""))] as string[];
}

/** In whole bytes; what an expansion that failed has taken counts until it is given back. */
function claimedStorage({ spec, status }: PersistentVolumeClaim): string | undefined {
  const asked = spec.resources.requests?.storage;
  if (asked === undefined) return undefined;
  const allocated = status?.allocatedResources?.storage;
  const more =
    allocated !== undefined && compareQuantities(quantityOf(allocated), quantityOf(asked)) > 0;
  const amount = quantityOf(more ? allocated : asked);
  const whole = quantityFrom(quantityValue(amount), amount.format);
  return compareQuantities(whole, amount) === 0 ? formatQuantity(amount) : formatQuantity(whole);
}

/** What of a claim's status its cost depends on. */
function statusCosts(claim: PersistentVolumeClaim): string {
  const allocated = claim.status.allocatedResources?.storage ?? "";
  return [allocated, ...attributeClasses(claim).sort()].join();
}
