/** Gives a cluster that has no StorageClass one of directories on its nodes, as the default. */

import type { StorageClass } from "#api/generated/storage.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { defineController, readOnly } from "#runtime/controller.ts";
import { create } from "#runtime/writes.ts";
import { LOCAL_PATH_PROVISIONER } from "./local-path.ts";

const STANDARD: StorageClass = {
  apiVersion: storageClassKind.apiVersion,
  kind: storageClassKind.names.kind,
  metadata: {
    name: "standard",
    annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
  },
  provisioner: LOCAL_PATH_PROVISIONER,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
};

/** The namespace stands for the cluster: looked at once at the start, hardly ever changed. */
export const defaultStorageClass = defineController<boolean>({
  name: "default-storageclass-controller",
  rule: "a cluster without a storage class gets one",
  feeds: [
    {
      kind: namespaceKind,
      keys: ({ metadata }: KubeObject) =>
        metadata.name === "kube-system" ? [{ name: "kube-system" }] : [],
    },
    readOnly(storageClassKind),
  ],
  observe: (caches) => caches(storageClassKind).size > 0,
  decide: (hasClass) => (hasClass ? {} : { writes: [create(storageClassKind, STANDARD)] }),
});
