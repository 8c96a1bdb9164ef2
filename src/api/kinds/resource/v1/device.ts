/** A device that a driver offers: what it is, how much of it there is, where it can be used. */

import type {
  Device,
  DeviceAttribute,
  DeviceCounterConsumption,
} from "#api/generated/resource.v1.ts";
import { validateNodeSelector } from "#api/kinds/core/v1/pod/placement/affinity.ts";
import { isNativeResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  invalid,
  notFound,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateCapacity } from "./device-capacity.ts";
import {
  QUALIFIED_NAME_BYTES_MAX,
  validateLabelName,
  validateQualifiedName,
} from "./device-names.ts";
import { validateBindingConditions, validateTaint } from "./device-parts.ts";
import { validateList, validateMap, validateSet } from "./lists.ts";

const ATTRIBUTES_AND_CAPACITIES_MAX = 32;
const ATTRIBUTE_VALUES_MAX = 48;
const ATTRIBUTE_BYTES_MAX = 64;
const TAINTS_MAX = 16;
const COUNTER_CONSUMPTIONS_MAX = 2;
const COUNTERS_MAX = 32;
const LABEL_BYTES_MAX = 63;
const LIST_FIELDS = ["bools", "ints", "strings", "versions"] as const;
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

export function validateDevice(
  device: Device,
  old: Device | undefined,
  perDeviceNodes: boolean,
  path: Path,
): FieldError[] {
  const { attributes = {}, capacity = {}, taints } = device;
  const errors = [...validateLabelName(device.name, path.child("name"))];
  const total = Object.keys(attributes).length + Object.keys(capacity).length;
  if (total > ATTRIBUTES_AND_CAPACITIES_MAX) {
    const detail = `the total number of attributes and capacities must not exceed ${ATTRIBUTES_AND_CAPACITIES_MAX}`;
    errors.push(invalid(path, total, detail));
  }
  const values = Object.values(attributes).reduce((sum, one) => sum + countValues(one), 0);
  if (values > ATTRIBUTE_VALUES_MAX) {
    const detail = `the total number of attribute values must not exceed ${ATTRIBUTE_VALUES_MAX}`;
    errors.push(invalid(path, values, detail));
  }
  const shared = device.allowMultipleAllocations === true;
  const shown = QUALIFIED_NAME_BYTES_MAX;
  errors.push(
    ...validateMap(
      attributes,
      Infinity,
      shown,
      validateQualifiedName,
      validateAttribute,
      path.child("attributes"),
    ),
    ...validateMap(
      capacity,
      Infinity,
      shown,
      validateQualifiedName,
      (one, at) => validateCapacity(one, shared, at),
      path.child("capacity"),
    ),
  );
  if (old === undefined || !semanticEqual(old.taints, taints)) {
    const validate = (taint: NonNullable<typeof taints>[number], at: Path) =>
      validateTaint(taint, undefined, at);
    errors.push(...validateList(taints, TAINTS_MAX, validate, path.child("taints")));
  }
  errors.push(
    ...validateSet(
      device.consumesCounters,
      COUNTER_CONSUMPTIONS_MAX,
      validateConsumption,
      ({ counterSet }) => counterSet,
      path.child("consumesCounters"),
    ),
    ...validateNodes(device, perDeviceNodes, path),
    ...validateBindingConditions(device, path),
    ...validateMappings(device, path.child("nodeAllocatableResourceMappings")),
  );
  return errors;
}

export function hasListAttributes({ attributes = {} }: Device): boolean {
  return Object.values(attributes).some((attribute) =>
    LIST_FIELDS.some((field) => attribute[field] !== undefined),
  );
}

function countValues(attribute: DeviceAttribute): number {
  const listed = LIST_FIELDS.reduce((sum, field) => sum + (attribute[field] ?? []).length, 0);
  return listed === 0 ? 1 : listed;
}

function validateAttribute(attribute: DeviceAttribute, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const text = (value: string, at: Path) => {
    if (utf8Length(value) > ATTRIBUTE_BYTES_MAX) errors.push(tooLong(at, ATTRIBUTE_BYTES_MAX));
  };
  const version = (value: string, at: Path) => {
    if (!SEMVER.test(value)) {
      const detail = "must be a string compatible with semver.org spec 2.0.0";
      errors.push(invalid(at, value, detail));
    }
    text(value, at);
  };
  if (attribute.string !== undefined) text(attribute.string, path.child("string"));
  if (attribute.version !== undefined) version(attribute.version, path.child("version"));
  for (const field of LIST_FIELDS) {
    const list = attribute[field];
    if (list?.length === 0) {
      errors.push(invalid(path.child(field), list, "must not be empty if specified"));
    }
  }
  for (const [i, value] of (attribute.strings ?? []).entries()) {
    text(value, path.child("strings").index(i));
  }
  for (const [i, value] of (attribute.versions ?? []).entries()) {
    version(value, path.child("versions").index(i));
  }
  const given = Object.keys(attribute).length;
  if (given !== 1) {
    const value = given === 0 ? "" : internalForm("resource.v1.DeviceAttribute", attribute);
    errors.push(invalid(path, value, "exactly one value must be specified"));
  }
  return errors;
}

function validateConsumption(
  { counterSet, counters }: DeviceCounterConsumption,
  path: Path,
): FieldError[] {
  const setPath = path.child("counterSet");
  const errors =
    counterSet === "" ? [required(setPath, "")] : [...validateLabelName(counterSet, setPath)];
  return [...errors, ...validateCounters(counters, path.child("counters"))];
}

export function validateCounters(
  counters: Readonly<Record<string, unknown>> | undefined,
  path: Path,
): FieldError[] {
  if (Object.keys(counters ?? {}).length === 0) return [required(path, "")];
  return validateMap(counters, COUNTERS_MAX, LABEL_BYTES_MAX, validateLabelName, () => [], path);
}

/** Devices of one slice may be on different nodes only if the slice says so. */
function validateNodes(device: Device, perDevice: boolean, path: Path): FieldError[] {
  const { nodeName, nodeSelector, allNodes } = device;
  const given = [nodeName, nodeSelector, allNodes].some((value) => value !== undefined);
  if (!perDevice) {
    if (!given) return [];
    const detail =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    return [invalid(path, null, detail)];
  }
  const errors: FieldError[] = [];
  const set: string[] = [];
  if (nodeName === "") {
    errors.push(invalid(path.child("nodeName"), nodeName, "must not be empty"));
  } else if (nodeName !== undefined) {
    set.push("`nodeName`");
    errors.push(...invalidEach(path.child("nodeName"), nodeName, isDns1123Subdomain(nodeName)));
  }
  if (nodeSelector !== undefined) {
    set.push("`nodeSelector`");
    validateNodeSelector(nodeSelector, false, path.child("nodeSelector"), errors);
  }
  if (allNodes) set.push("`allNodes`");
  else if (allNodes === false) {
    errors.push(invalid(path.child("allNodes"), false, "must be either unset or set to true"));
  }
  if (set.length === 1) return errors;
  const detail =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  errors.push(
    set.length === 0 ? required(path, detail) : invalid(path, `{${set.join(", ")}}`, detail),
  );
  return errors;
}

function validateMappings(device: Device, path: Path): FieldError[] {
  const { nodeAllocatableResourceMappings: mappings = {}, capacity = {} } = device;
  const errors: FieldError[] = [];
  for (const [name, { allocationMultiplier, capacityKey }] of Object.entries(mappings)) {
    const at = path.key(name);
    if (!isNativeResource(name)) {
      errors.push(invalid(at, name, "must be a node allocatable resource name"));
    }
    if (allocationMultiplier === undefined && capacityKey === undefined) {
      const detail = "at least one of allocationMultiplier or capacityKey must be set";
      errors.push(invalid(at, "", detail));
    }
    if (allocationMultiplier !== undefined && quantitySign(quantityOf(allocationMultiplier)) <= 0) {
      errors.push(
        invalid(at.child("allocationMultiplier"), allocationMultiplier, "must be positive"),
      );
    }
    const keyPath = at.child("capacityKey");
    if (capacityKey === "") {
      errors.push(invalid(keyPath, "", "capacityKey must not be an empty string"));
    } else if (capacityKey !== undefined && capacity[capacityKey] === undefined) {
      errors.push(notFound(keyPath, capacityKey));
    }
  }
  return errors;
}
