/** v1 Pod: containers that run together on one node. The rules of its parts are in pod/. */

import type { Pod } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { podMeasure } from "#api/quota/pod-measure.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { isDns1123Label, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { podColumns, podRowConditions } from "./pod/columns.ts";
import { POD_CONNECTIONS } from "./pod/connections.ts";
import { validateEphemeralContainersUpdate } from "./pod/containers/ephemeral-update.ts";
import { validateResize } from "./pod/containers/resize.ts";
import { defaultPod } from "./pod/defaults.ts";
import { graceSeconds } from "./pod/grace-period.ts";
import { validatePodCreate } from "./pod/pod-rules.ts";
import {
  prepareEphemeralContainers,
  preparePodCreate,
  preparePodStatus,
  preparePodUpdate,
  prepareResize,
} from "./pod/prepare.ts";
import { POD_RESET_FIELDS } from "./pod/reset-fields.ts";
import { podStatusWarnings, validatePodStatusUpdate } from "./pod/status.ts";
import { validatePodUpdate } from "./pod/update.ts";
import { podWarnings } from "./pod/warnings.ts";

export const podKind = defineKind<Pod>({
  group: "",
  version: "v1",
  names: { kind: "Pod", plural: "pods", short: ["po"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Pod"),
  deletion: { returnsObject: true, graceSeconds },
  resetFields: POD_RESET_FIELDS,
  quota: podMeasure,
  extraSubresources: POD_CONNECTIONS,
  triggerField: "spec.nodeName",
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: defaultPod,
  prepareCreate: preparePodCreate,
  validate: validatePodCreate,
  prepareUpdate: preparePodUpdate,
  validateUpdate: validatePodUpdate,
  warnings: (pod, old) => (old === undefined ? createWarnings(pod) : []),
  subresources: {
    status: {
      prepareUpdate: preparePodStatus,
      validateUpdate: validatePodStatusUpdate,
      warnings: podStatusWarnings,
    },
    ephemeralcontainers: {
      prepareUpdate: prepareEphemeralContainers,
      validateUpdate: validateEphemeralContainersUpdate,
    },
    resize: { prepareUpdate: prepareResize, validateUpdate: validateResize },
  },
  columns: podColumns,
  rowConditions: podRowConditions,
  selectableFields: ({ spec, status }) => ({
    "spec.nodeName": spec.nodeName ?? "",
    "spec.host": spec.nodeName ?? "", // its name in a time before ours
    "spec.restartPolicy": spec.restartPolicy ?? "",
    "spec.schedulerName": spec.schedulerName ?? "",
    "spec.serviceAccountName": spec.serviceAccountName ?? "",
    "spec.hostNetwork": String(spec.hostNetwork ?? false),
    "status.phase": status.phase ?? "",
    "status.podIP": status.podIPs?.[0]?.ip ?? "",
    "status.podIPs": "", // allowed, and of no pod
    "status.nominatedNodeName": status.nominatedNodeName ?? "",
  }),
});

const PATHS = { metadata: Path.of("metadata"), spec: Path.of("spec") };

function createWarnings({ metadata, spec }: Pod): string[] {
  const faults = isDns1123Label(metadata.name ?? "");
  const warnings = podWarnings(metadata, spec, PATHS);
  if (faults.length === 0) return warnings;
  return [
    `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${faults.join(" ")}]`,
    ...warnings,
  ];
}
