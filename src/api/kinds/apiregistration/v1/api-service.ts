/** apiregistration.k8s.io/v1 APIService: who serves a group's version, this server or another. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import { keepFields } from "#api/draft.ts";
import type {
  APIService,
  APIServiceSpec,
  APIServiceStatus,
} from "#api/generated/apiregistration.v1.ts";
import { defineKind } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import {
  isDns1035Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isPortNumber,
} from "#api/validation/names.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";

const GROUP_PRIORITY_MAX = 20_000;
const VERSION_PRIORITY_MAX = 1000;
const STATUS_METADATA = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

export const apiServiceKind = defineKind<APIService>({
  group: "apiregistration.k8s.io",
  version: "v1",
  names: { kind: "APIService", plural: "apiservices", categories: ["api-extensions"] },
  scope: "Cluster",
  schema: builtInSchema("apiregistration.v1.APIService"),
  // Upstream serves it by a server of its own, which puts the group in front and stores only JSON.
  storagePath: "apiregistration.k8s.io/apiservices",
  storedForm: "json",
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameFaults,
  defaults: ({ spec }) => {
    if (spec.service !== undefined) spec.service.port ??= 443;
  },
  prepareCreate: (draft, { nowMs }) => {
    draft.status = {};
    if (draft.spec.service !== undefined) return;
    draft.status.conditions = [
      {
        type: "Available",
        status: "True",
        lastTransitionTime: timeFromMs(nowMs),
        reason: "Local",
        message: "Local APIServices are always available",
      },
    ];
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: validateSpec,
  validateUpdate: (service, old) => [
    ...validateObjectMetaUpdate(service.metadata, old.metadata, METADATA),
    ...validateObjectMeta(
      service.metadata,
      { namespaced: false, nameRule: (name, prefix) => nameFaults(name, prefix, service) },
      METADATA,
    ),
    ...validateSpec(service),
  ],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        const metadata = draft.metadata as Record<string, unknown>;
        for (const field of STATUS_METADATA) {
          if (old.metadata[field] === undefined) delete metadata[field];
          else metadata[field] = old.metadata[field];
        }
      },
      validateUpdate: (service, old) => [
        ...validateObjectMetaUpdate(service.metadata, old.metadata, METADATA),
        ...validateStatus(service.status),
      ],
    },
  },
  columns: [
    nameColumn,
    {
      name: "Service",
      type: "string",
      description: "The reference to the service that hosts this API endpoint.",
      cell: ({ spec: { service } }) =>
        service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
    },
    {
      name: "Available",
      type: "string",
      description: "Whether this service is available.",
      cell: ({ status }) => availableText(status),
    },
    ageColumn,
  ],
});

function nameFaults(name: string, _: boolean, service: APIService | undefined): readonly string[] {
  const faults = isPathSegmentName(name);
  if (faults.length > 0 || service === undefined) return faults;
  const wanted = `${service.spec.version ?? ""}.${service.spec.group ?? ""}`;
  return name === wanted ? [] : [`must be \`spec.version+"."+spec.group\`: "${wanted}"`];
}

function validateSpec({ spec }: APIService): FieldError[] {
  const { group = "", version = "" } = spec;
  const path = Path.of("spec");
  const errors: FieldError[] = [];
  const groupPath = path.child("group");
  if (group === "" && version !== "v1") {
    const detail = "only v1 may have an empty group and it better be legacy kube";
    errors.push(required(groupPath, detail));
  }
  if (group !== "") errors.push(...invalidEach(groupPath, group, isDns1123Subdomain(group)));
  errors.push(...invalidEach(path.child("version"), version, isDns1035Label(version)));
  errors.push(
    ...validatePriority(spec, "groupPriorityMinimum", GROUP_PRIORITY_MAX),
    ...validatePriority(spec, "versionPriority", VERSION_PRIORITY_MAX),
  );
  return [...errors, ...validateTarget(spec, path)];
}

function validatePriority(
  spec: APIServiceSpec,
  field: "groupPriorityMinimum" | "versionPriority",
  max: number,
): FieldError[] {
  if (spec[field] > 0 && spec[field] <= max) return [];
  return [invalid(Path.of("spec", field), spec[field], `must be positive and less than ${max}`)];
}

function validateTarget(spec: APIServiceSpec, path: Path): FieldError[] {
  const { service, caBundle = "", insecureSkipTLSVerify = false } = spec;
  const insecurePath = path.child("insecureSkipTLSVerify");
  const errors: FieldError[] = [];
  if (service === undefined) {
    if (caBundle !== "") {
      const value = `${base64Bytes(caBundle)} bytes`;
      const detail = "local APIServices may not have a caBundle";
      errors.push(invalid(path.child("caBundle"), value, detail));
    }
    if (insecureSkipTLSVerify) {
      errors.push(
        invalid(insecurePath, true, "local APIServices may not have insecureSkipTLSVerify"),
      );
    }
    return errors;
  }
  const { namespace = "", name = "", port = 0 } = service;
  const at = path.child("service");
  if (namespace === "") errors.push(required(at.child("namespace"), ""));
  if (name === "") errors.push(required(at.child("name"), ""));
  const portFaults = isPortNumber(port);
  if (portFaults.length > 0) {
    errors.push(invalid(at.child("port"), port, `port is not valid: ${portFaults.join(", ")}`));
  }
  if (insecureSkipTLSVerify && caBundle !== "") {
    errors.push(invalid(insecurePath, true, "may not be true if caBundle is present"));
  }
  return errors;
}

function validateStatus({ conditions = [] }: APIServiceStatus): FieldError[] {
  const path = Path.of("status", "conditions");
  return conditions.flatMap(({ status }, i) =>
    validateOneOf(path.index(i).child("status"), status, ["True", "False", "Unknown"]),
  );
}

function availableText({ conditions = [] }: APIServiceStatus): string {
  const available = conditions.find(({ type }) => type === "Available");
  if (available === undefined) return "Unknown";
  const { status, reason } = available;
  return status === "True" || reason === undefined ? status : `${status} (${reason})`;
}

function base64Bytes(text: string): number {
  return Math.floor((text.replace(/=+$/, "").length * 3) / 4);
}
