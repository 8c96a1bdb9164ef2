/** Where containers find the volumes of their pod. */
import type { Container, VolumeDevice, VolumeMount, VolumeSource } from "#api/generated/core.v1.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { hasBackstep, validateDescendingPath } from "../volumes/local-path.ts";
import type { AnyContainer } from "./containers.ts";

const PROPAGATIONS = ["Bidirectional", "HostToContainer", "None"];
const RECURSIVE_READ_ONLY = ["Disabled", "Enabled", "IfPossible"];

export function validateMounts(
  container: AnyContainer,
  volumes: ReadonlyMap<string, VolumeSource>,
  path: Path,
  errors: FieldError[],
): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  if (volumeMounts.length > 0) {
    validateVolumeMounts(volumeMounts, container, volumes, path.child("volumeMounts"), errors);
  }
  if (volumeDevices.length > 0) {
    const at = path.child("volumeDevices");
    validateVolumeDevices(volumeDevices, volumeMounts, volumes, at, errors);
  }
}

function validateVolumeMounts(
  mounts: readonly VolumeMount[],
  container: AnyContainer,
  volumes: ReadonlyMap<string, VolumeSource>,
  path: Path,
  errors: FieldError[],
): void {
  const { volumeDevices } = container;
  const devices = volumeDevices && pathsByName(volumeDevices, ({ devicePath }) => devicePath);
  const seen = new Set<string>();
  for (const [i, mount] of mounts.entries()) {
    const { name, mountPath, subPath = "", subPathExpr = "" } = mount;
    const at = path.index(i);
    if (name === "") errors.push(required(at.child("name"), ""));
    if (!volumes.has(name)) errors.push(notFound(at.child("name"), name));
    if (mountPath === "") errors.push(required(at.child("mountPath"), ""));
    if (seen.has(mountPath)) {
      errors.push(invalid(at.child("mountPath"), mountPath, "must be unique"));
    }
    seen.add(mountPath);
    if (devices !== undefined) validateApart(mount, devices, at, errors);
    if (subPath !== "") validateDescendingPath(subPath, path.child("subPath"), errors);
    if (subPathExpr !== "") {
      if (subPath !== "") {
        const detail = "subPathExpr and subPath are mutually exclusive";
        errors.push(invalid(at.child("subPathExpr"), subPathExpr, detail));
      }
      validateDescendingPath(subPathExpr, path.child("subPathExpr"), errors);
    }
    if (mount.mountPropagation !== undefined) {
      validatePropagation(mount, container, path.child("mountPropagation"), errors);
    }
    if (mount.recursiveReadOnly !== undefined) {
      validateRecursiveReadOnly(mount, path.child("recursiveReadOnly"), errors);
    }
  }
}

/** What is a device is not a folder as well. */
function validateApart(
  { name, mountPath }: VolumeMount,
  devices: ReadonlyMap<string, string>,
  path: Path,
  errors: FieldError[],
): void {
  if (devices.has(name)) {
    errors.push(invalid(path.child("name"), name, "must not already exist in volumeDevices"));
  }
  if ([...devices.values()].includes(mountPath)) {
    const detail = "must not already exist as a path in volumeDevices";
    errors.push(invalid(path.child("mountPath"), mountPath, detail));
  }
}

function validatePropagation(
  { mountPropagation }: VolumeMount,
  { securityContext }: AnyContainer,
  path: Path,
  errors: FieldError[],
): void {
  if (mountPropagation === undefined) return;
  if (!PROPAGATIONS.includes(mountPropagation)) {
    errors.push(notSupported(path, mountPropagation, PROPAGATIONS));
  }
  if (mountPropagation === "Bidirectional" && securityContext?.privileged !== true) {
    const detail = "Bidirectional mount propagation is available only to privileged containers";
    errors.push(forbidden(path, detail));
  }
}

function validateRecursiveReadOnly(
  { recursiveReadOnly, readOnly, mountPropagation = "None" }: VolumeMount,
  path: Path,
  errors: FieldError[],
): void {
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return;
  if (!RECURSIVE_READ_ONLY.includes(recursiveReadOnly)) {
    errors.push(notSupported(path, recursiveReadOnly, RECURSIVE_READ_ONLY));
    return;
  }
  if (readOnly !== true) {
    errors.push(forbidden(path, "may only be specified when readOnly is true"));
  }
  if (mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    errors.push(forbidden(path, detail));
  }
}

function validateVolumeDevices(
  devices: readonly VolumeDevice[],
  mounts: NonNullable<Container["volumeMounts"]>,
  volumes: ReadonlyMap<string, VolumeSource>,
  path: Path,
  errors: FieldError[],
): void {
  const mountPaths = pathsByName(mounts, ({ mountPath }) => mountPath);
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, { name, devicePath }] of devices.entries()) {
    const at = path.index(i);
    const atName = at.child("name");
    const atPath = at.child("devicePath");
    const volume = volumes.get(name);
    if (name === "") errors.push(required(atName, ""));
    if (names.has(name)) errors.push(invalid(atName, name, "must be unique"));
    if (volume === undefined) errors.push(notFound(atName, name));
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
      const detail =
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      errors.push(invalid(atName, name, detail));
    }
    if (devicePath === "") errors.push(required(atPath, ""));
    if (paths.has(devicePath)) errors.push(invalid(atPath, devicePath, "must be unique"));
    if (devicePath !== "" && hasBackstep(devicePath)) {
      errors.push(invalid(atPath, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mountPaths.has(name)) {
      errors.push(invalid(atName, name, "must not already exist in volumeMounts"));
    }
    if ([...mountPaths.values()].includes(devicePath)) {
      const detail = "must not already exist as a path in volumeMounts";
      errors.push(invalid(atPath, devicePath, detail));
    }
    if (name !== "") names.add(name);
  }
}

function pathsByName<T extends { readonly name: string }>(
  items: readonly T[],
  pathOf: (item: T) => string,
): ReadonlyMap<string, string> {
  return new Map(items.map((item) => [item.name, pathOf(item)]));
}
