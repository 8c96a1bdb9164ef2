/** Only bound claims of a class that allows it may grow. */

import type { PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind, oldObject } from "../requests.ts";

export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: "PersistentVolumeClaimResize",
  operations: ["UPDATE"],
  validate(request, { objects }) {
    const claim = objectOfKind(request, persistentVolumeClaimKind, ["UPDATE"]);
    if (claim === undefined) return;
    const old = oldObject(request, persistentVolumeClaimKind);
    if (compareAmounts(sizeOf(claim), sizeOf(old)) <= 0) return;
    if (old.status.phase !== "Bound") {
      return refuse(request, "Only bound persistent volume claims can be expanded");
    }
    const name = classOf(claim);
    const same = name !== "" && name === classOf(old);
    if (same && objects.get(storageClassKind, "", name)?.allowVolumeExpansion === true) return;
    return refuse(
      request,
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the " +
        "pvc must support resize",
    );
  },
};

function sizeOf({ spec }: PersistentVolumeClaim): string {
  return spec.resources.requests?.storage ?? "0";
}

function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  const annotated = metadata.annotations?.["volume.beta.kubernetes.io/storage-class"];
  return annotated ?? spec.storageClassName ?? "";
}
