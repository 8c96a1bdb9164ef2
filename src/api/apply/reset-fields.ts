/**
 * What a write to a place cannot change, so that nobody comes to own it there: a write to an object
 * leaves its status alone, a write to its status leaves the rest alone. Some kinds say more.
 */
import { fieldSet } from "./field-set.ts";
import type { FieldFilter } from "./versions.ts";

/** `group` is "" for the core group, `subresource` "" for the object itself. */
export function resetFieldsOf(
  group: string,
  plural: string,
  subresource: string,
  hasStatus: boolean,
): FieldFilter | undefined {
  const special = SPECIAL.get(`${group}/${plural}/${subresource}`);
  if (special !== undefined) return special;
  if (subresource === "status") return META_TOO.has(`${group}/${plural}`) ? META_AND_SPEC : SPEC;
  return subresource === "" && hasStatus ? STATUS : undefined;
}

/** Custom resources: a write to their status leaves metadata alone too. */
export const CUSTOM_STATUS_RESET: FieldFilter = { except: fieldSet(["metadata"], ["spec"]) };

const STATUS: FieldFilter = { except: fieldSet(["status"]) };
const SPEC: FieldFilter = { except: fieldSet(["spec"]) };
const META_AND_SPEC = CUSTOM_STATUS_RESET;

const META_TOO: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "apiregistration.k8s.io/apiservices",
  "flowcontrol.apiserver.k8s.io/flowschemas",
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
  "internal.apiserver.k8s.io/storageversions",
  "networking.k8s.io/servicecidrs",
  "resource.k8s.io/devicetaintrules",
  "resource.k8s.io/resourceclaims",
  "resource.k8s.io/resourcepoolstatusrequests",
  "scheduling.k8s.io/podgroups",
  "storage.k8s.io/volumeattachments",
  "storagemigration.k8s.io/storageversionmigrations",
]);

const SPECIAL: ReadonlyMap<string, FieldFilter | undefined> = new Map<string, FieldFilter>([
  ["/namespaces/finalize", STATUS],
  [
    "/pods/status",
    {
      except: fieldSet(
        ["spec"],
        ["metadata", "deletionTimestamp"],
        ["metadata", "ownerReferences"],
      ),
    },
  ],
  ["/pods/ephemeralcontainers", { only: [["spec", "ephemeralContainers"]] }],
  [
    "/pods/resize",
    {
      only: ["containers", "initContainers"].flatMap((list) =>
        ["resources", "resizePolicy"].map((field) => ["spec", list, "*", field]),
      ),
    },
  ],
  ["apps/deployments/status", { except: fieldSet(["spec"], ["metadata", "labels"]) }],
  ["certificates.k8s.io/certificatesigningrequests/", { except: fieldSet(["spec"], ["status"]) }],
  [
    "certificates.k8s.io/certificatesigningrequests/status",
    { except: fieldSet(["spec"], ["status", "conditions"]) },
  ],
  [
    "certificates.k8s.io/certificatesigningrequests/approval",
    { except: fieldSet(["spec"], ["status", "certificate"]) },
  ],
]);
