/** internal.apiserver.k8s.io/v1alpha1 StorageVersion: in which version each server stores a resource. */

import { STATUS_RESETS_METADATA } from "#api/apply/reset-fields.ts";
import { ageColumn, nameColumn, UNSET } from "#api/columns.ts";
import { keepFields, keepMetadata } from "#api/draft.ts";
import type {
  ServerStorageVersion,
  StorageVersion,
  StorageVersionCondition,
  StorageVersionStatus,
} from "#api/generated/apiserverinternal.v1alpha1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { regexFault } from "#api/validation/formats.ts";
import { validateFinalizers } from "#api/validation/kube-meta.ts";
import { isDns1035Label, isDns1123Subdomain, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const SERVERS_SHOWN_MAX = 3;
const STATUS = "apiserverinternal.v1alpha1.StorageVersionStatus";

export const storageVersionKind = defineKind<StorageVersion>({
  group: "internal.apiserver.k8s.io",
  version: "v1alpha1",
  names: { kind: "StorageVersion", plural: "storageversions" },
  scope: "Cluster",
  schema: builtInSchema("apiserverinternal.v1alpha1.StorageVersion"),
  resetFields: STATUS_RESETS_METADATA,
  nameRule: nameFaults,
  prepareCreate: (draft) => {
    draft.status = {};
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, status }) => [...validateFinalizers(metadata), ...validateStatus(status)],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => {
        keepFields(draft, old, "spec");
        keepMetadata(draft, old);
      },
      validateUpdate: ({ status }) => validateStatus(status),
    },
  },
  columns: [
    nameColumn,
    {
      name: "CommonEncodingVersion",
      type: "string",
      describedBy: `${STATUS}.commonEncodingVersion`,
      cell: ({ status }) => status.commonEncodingVersion ?? UNSET,
    },
    {
      name: "StorageVersions",
      type: "string",
      describedBy: `${STATUS}.storageVersions`,
      cell: ({ status }) => serversText(status.storageVersions ?? []),
    },
    ageColumn,
  ],
});

/** `<group>.<resource>` */
function nameFaults(name: string): string[] {
  const dot = name.lastIndexOf(".");
  if (dot < 0) return ["name must be in the form of <group>.<resource>"];
  return [
    ...isDns1123Subdomain(name.slice(0, dot)).map((fault) => `the group segment ${fault}`),
    ...isDns1035Label(name.slice(dot + 1)).map((fault) => `the resource segment ${fault}`),
  ];
}

function validateStatus(status: StorageVersionStatus): FieldError[] {
  const path = Path.of("status");
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, server] of (status.storageVersions ?? []).entries()) {
    const at = path.child("storageVersions").index(i);
    const { apiServerID = "" } = server;
    if (seen.has(apiServerID)) errors.push(duplicate(at.child("apiServerID"), apiServerID));
    seen.add(apiServerID);
    errors.push(...validateServer(server, at));
  }
  errors.push(...validateCommonVersion(status, path.child("commonEncodingVersion")));
  return [...errors, ...validateConditions(status.conditions ?? [], path)];
}

function validateServer(server: ServerStorageVersion, path: Path): FieldError[] {
  const { apiServerID = "", encodingVersion = "" } = server;
  const { decodableVersions = [], servedVersions = [] } = server;
  const errors = [
    ...invalidEach(path.child("apiServerID"), apiServerID, isDns1123Subdomain(apiServerID)),
    ...validateApiVersion(encodingVersion, path.child("encodingVersion")),
  ];
  const decodablePath = path.child("decodableVersions");
  for (const [i, version] of decodableVersions.entries()) {
    errors.push(...validateApiVersion(version, decodablePath.index(i)));
  }
  if (!decodableVersions.includes(encodingVersion)) {
    const detail = `decodableVersions must include encodingVersion ${encodingVersion}`;
    errors.push(invalid(decodablePath, server.decodableVersions ?? null, detail));
  }
  for (const [i, version] of servedVersions.entries()) {
    const at = path.child("servedVersions").index(i);
    errors.push(...validateApiVersion(version, at));
    if (!decodableVersions.includes(version)) {
      const detail = `individual served version : ${version} must be included in decodableVersions : [${decodableVersions.join(" ")}]`;
      errors.push(invalid(at, version, detail));
    }
  }
  return errors;
}

function validateApiVersion(apiVersion: string, path: Path): FieldError[] {
  const faults = apiVersionFaults(apiVersion);
  return faults.length === 0 ? [] : [invalid(path, apiVersion, faults.join(","))];
}

function apiVersionFaults(apiVersion: string): string[] {
  const parts = apiVersion.split("/");
  if (parts.length > 2) {
    const rule =
      "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
    const label = regexFault(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", ["my-name", "abc-123"]);
    return [
      `an apiVersion is ${label} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`,
    ];
  }
  const version = parts.at(-1)!;
  return [
    ...(parts.length === 2 ? partFaults("group", parts[0]!, isDns1123Subdomain) : []),
    ...partFaults("version", version, isDns1035Label),
  ];
}

function partFaults(part: string, value: string, check: (value: string) => string[]): string[] {
  if (value === "") return [`${part} part: must be non-empty`];
  return check(value).map((fault) => `${part} part: ${fault}`);
}

function validateCommonVersion(status: StorageVersionStatus, path: Path): FieldError[] {
  const { storageVersions = [], commonEncodingVersion: stated } = status;
  const versions = new Set(storageVersions.map(({ encodingVersion = "" }) => encodingVersion));
  const actual = versions.size === 1 ? [...versions][0] : undefined;
  if (actual === stated) return [];
  if (actual === undefined) {
    const detail =
      "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
    return [invalid(path, stated, detail)];
  }
  if (stated === undefined) {
    return [invalid(path, null, `the common encoding version is ${actual}`)];
  }
  return [invalid(path, stated, `the actual common encoding version is ${actual}`)];
}

function validateConditions(conditions: readonly StorageVersionCondition[], path: Path) {
  const errors: FieldError[] = [];
  const seen = new Map<string, number>();
  for (const [i, condition] of conditions.entries()) {
    const at = path.index(i);
    const { type, status, reason, message = "" } = condition;
    const earlier = seen.get(type);
    if (earlier !== undefined) {
      const detail = `the type of the condition is not unique, it also appears in conditions[${earlier}]`;
      errors.push(invalid(at.child("type"), type, detail));
    }
    seen.set(type, i);
    errors.push(...invalidEach(at.child("type"), type, isQualifiedName(type)));
    errors.push(...invalidEach(at.child("status"), status, isQualifiedName(status)));
    if (reason === "") errors.push(required(at.child("reason"), ""));
    if (message === "") errors.push(required(at.child("message"), ""));
  }
  return errors;
}

function serversText(servers: readonly ServerStorageVersion[]): string {
  const shown = servers
    .slice(0, SERVERS_SHOWN_MAX)
    .map(({ apiServerID = "", encodingVersion = "" }) => `${apiServerID}=${encodingVersion}`)
    .join(",");
  const more = servers.length - SERVERS_SHOWN_MAX;
  if (more > 0) return `${shown} + ${more} more...`;
  return shown === "" ? UNSET : shown;
}
