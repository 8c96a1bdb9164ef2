/** Environment variables and where their values come from. */
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  PodSpec,
} from "#api/generated/core.v1.ts";
import { type FieldError, invalid, notFound, required } from "#api/validation/field-error.ts";
import {
  isConfigMapKey,
  isDns1123Label,
  isRelaxedEnvVarName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { validateNoBacksteps } from "../volumes/local-path.ts";
import { type AnyContainer, placedContainers, someContainer } from "./containers.ts";
import { validateFieldRef, validateResourceFieldRef } from "./field-refs.ts";

const ENV_FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

export function validateEnv(vars: readonly EnvVar[], path: Path, errors: FieldError[]): void {
  for (const [i, variable] of vars.entries()) {
    const at = path.index(i);
    if (variable.name === "") errors.push(required(at.child("name"), ""));
    else validateName(variable.name, at.child("name"), errors);
    if (variable.valueFrom !== undefined) {
      validateValueFrom(variable, variable.valueFrom, at.child("valueFrom"), errors);
    }
  }
}

export function validateEnvFrom(
  sources: readonly EnvFromSource[],
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { prefix = "", configMapRef, secretRef }] of sources.entries()) {
    const at = path.index(i);
    if (prefix !== "") validateName(prefix, at.child("prefix"), errors);
    validateEnvObject(configMapRef, at.child("configMapRef", "name"), errors);
    validateEnvObject(secretRef, at.child("secretRef", "name"), errors);
    if (configMapRef === undefined && secretRef === undefined) {
      errors.push(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef !== undefined && secretRef !== undefined) {
      errors.push(invalid(path, "", "may not have more than one field specified at a time"));
    }
  }
}

/** Files with variables lie in volumes that the pod's containers share. */
export function validateEnvFileVolumes(spec: PodSpec, path: Path, errors: FieldError[]): void {
  if (!someContainer(spec, usesEnvFile)) return;
  for (const { container, path: at } of placedContainers(spec, path)) {
    for (const [i, { valueFrom }] of (container.env ?? []).entries()) {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) continue;
      const namePath = at.child("env").index(i).child("valueFrom", "fileKeyRef", "volumeName");
      const volume = (spec.volumes ?? []).findLast((each) => each.name === name);
      if (volume === undefined) errors.push(notFound(namePath, name));
      else if (volume.emptyDir === undefined) {
        errors.push(invalid(namePath, name, "referenced volume must be of type emptyDir"));
      }
    }
  }
}

function usesEnvFile({ env }: AnyContainer): boolean {
  return env?.some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined) ?? false;
}

function validateName(name: string, path: Path, errors: FieldError[]): void {
  for (const fault of isRelaxedEnvVarName(name)) errors.push(invalid(path, name, fault));
}

function validateEnvObject(
  reference: { readonly name?: string } | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (reference === undefined) return;
  const { name = "" } = reference;
  if (name === "") errors.push(required(path, ""));
  else for (const fault of nameIsDnsSubdomain(name, true)) errors.push(invalid(path, name, fault));
}

function validateValueFrom(
  { value = "" }: EnvVar,
  source: EnvVarSource,
  path: Path,
  errors: FieldError[],
): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef !== undefined) {
    validateFieldRef(fieldRef, ENV_FIELDS, path.child("fieldRef"), errors);
  }
  if (resourceFieldRef !== undefined) {
    validateResourceFieldRef(resourceFieldRef, false, path.child("resourceFieldRef"), errors);
  }
  validateKeyRef(configMapKeyRef, path.child("configMapKeyRef"), errors);
  validateKeyRef(secretKeyRef, path.child("secretKeyRef"), errors);
  if (fileKeyRef !== undefined) validateFileKeyRef(fileKeyRef, path.child("fileKeyRef"), errors);

  const given = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef];
  const count = given.filter((reference) => reference !== undefined).length;
  if (count === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.push(invalid(path, "", detail));
  } else if (value !== "") {
    errors.push(invalid(path, "", "may not be specified when `value` is not empty"));
  } else if (count > 1) {
    errors.push(invalid(path, "", "may not have more than one field specified at a time"));
  }
}

function validateKeyRef(
  reference: { readonly name?: string; readonly key: string } | undefined,
  path: Path,
  errors: FieldError[],
): void {
  if (reference === undefined) return;
  const { name = "", key } = reference;
  for (const fault of nameIsDnsSubdomain(name, false)) {
    errors.push(invalid(path.child("name"), name, fault));
  }
  if (key === "") errors.push(required(path.child("key"), ""));
  else for (const fault of isConfigMapKey(key)) errors.push(invalid(path.child("key"), key, fault));
}

function validateFileKeyRef(
  { key, volumeName, path: filePath }: FileKeySelector,
  path: Path,
  errors: FieldError[],
): void {
  if (key === "") errors.push(required(path.child("key"), ""));
  else validateName(key, path.child("key"), errors);
  const volumePath = path.child("volumeName");
  if (volumeName === "") errors.push(required(volumePath, ""));
  else {
    for (const fault of isDns1123Label(volumeName)) {
      errors.push(invalid(volumePath, volumeName, fault));
    }
  }
  if (filePath === "") errors.push(required(path.child("path"), ""));
  else validateNoBacksteps(filePath, path.child("path"), errors);
}
