/** v1 Secret. */

import { bytesOf, bytesToBase64 } from "#api/codec/base64.ts";
import { findJsonSyntaxError, findTextFault } from "#api/codec/json-syntax.ts";
import { ageColumn, nameColumn } from "#api/columns.ts";
import type { Secret } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { objectCount } from "#api/quota/object-count.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, required, tooLong } from "#api/validation/field-error.ts";
import { validateImmutableField } from "#api/validation/immutable.ts";
import {
  METADATA,
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import { isConfigMapKey, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { base64Length, DATA_BYTES_MAX, validateStillImmutable } from "./immutable-data.ts";
import { keyPairFault } from "./key-pair.ts";

const SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name";
const TLS_TYPE = "kubernetes.io/tls";
const DATA = Path.of("data");

export const secretKind = defineKind<Secret>({
  group: "",
  version: "v1",
  names: { kind: "Secret", plural: "secrets" },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Secret"),
  quota: objectCount("", "secrets", "secrets"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults(draft) {
    draft.type ??= "Opaque";
    if (draft.stringData === undefined) return;
    draft.data ??= {};
    for (const [key, text] of Object.entries(draft.stringData)) {
      draft.data[key] = bytesToBase64(new TextEncoder().encode(text));
    }
    delete draft.stringData; // it is only ever written, and wins over data
  },
  validate: (secret) => [...validateFinalizers(secret.metadata), ...validateData(secret)],
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateImmutableField(next.type ?? "", old.type ?? "", Path.of("type")),
    ...validateStillImmutable(next, old, ["data"]),
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateData(next),
  ],
  warnings({ type, data = {} }, _, context) {
    if (type !== TLS_TYPE) return [];
    const fault = keyPairFault(
      decode(bytesOf(data["tls.crt"] ?? "")),
      decode(bytesOf(data["tls.key"] ?? "")),
      context?.signatures,
    );
    return fault === undefined ? [] : [fault];
  },

  columns: [
    nameColumn,
    {
      name: "Type",
      type: "string",
      describedBy: "core.v1.Secret.type",
      cell: ({ type }) => type ?? "",
    },
    {
      name: "Data",
      type: "string",
      describedBy: "core.v1.Secret.data",
      cell: ({ data = {} }) => Object.keys(data).length,
    },
    ageColumn,
  ],
  selectableFields: ({ type }) => ({ type: type ?? "" }),
});

function validateData({ metadata, type = "", data = {} }: Secret): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key of Object.keys(data)) {
    for (const fault of isConfigMapKey(key)) errors.push(invalid(DATA.key(key), key, fault));
    bytes += base64Length(data[key]!);
  }
  if (bytes > DATA_BYTES_MAX) errors.push(tooLong(DATA, DATA_BYTES_MAX));

  const missing = (...keys: readonly string[]) => keys.map((key) => required(DATA.key(key), ""));
  switch (type) {
    case "kubernetes.io/service-account-token":
      if (!metadata.annotations?.[SERVICE_ACCOUNT_NAME]) {
        errors.push(required(METADATA.child("annotations").key(SERVICE_ACCOUNT_NAME), ""));
      }
      break;
    case "kubernetes.io/dockercfg":
      errors.push(...validateJsonObject(data, ".dockercfg"));
      break;
    case "kubernetes.io/dockerconfigjson":
      errors.push(...validateJsonObject(data, ".dockerconfigjson"));
      break;
    case "kubernetes.io/basic-auth":
      if (!("username" in data) && !("password" in data)) {
        errors.push(...missing("username", "password"));
      }
      break;
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) errors.push(...missing("ssh-privatekey"));
      break;
    case TLS_TYPE:
      errors.push(...missing(...["tls.crt", "tls.key"].filter((key) => !Object.hasOwn(data, key))));
      break;
  }
  return errors;
}

function validateJsonObject(data: Readonly<Record<string, string>>, key: string): FieldError[] {
  const value = data[key];
  if (value === undefined) return [required(DATA.key(key), "")];
  const bytes = bytesOf(value);
  const text = decode(bytes);
  const fault = findJsonSyntaxError(bytes) ?? findTextFault(text) ?? notAnObject(JSON.parse(text));
  return fault === undefined ? [] : [invalid(DATA.key(key), "<secret contents redacted>", fault)];
}

function notAnObject(value: unknown): string | undefined {
  if (value === null || (typeof value === "object" && !Array.isArray(value))) return undefined;
  const found = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
