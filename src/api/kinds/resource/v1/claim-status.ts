/** What a claim got: devices allocated to it, who uses them, and how the devices are. */

import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimStatus,
} from "#api/generated/resource.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import { validateNodeSelector } from "#api/kinds/core/v1/pod/placement/affinity.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isInterfaceAddress } from "#api/validation/ip.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  adminAccessFault,
  type HasRequest,
  requestNames,
  validateRequestName,
  validateRequestNames,
} from "./device-claim.ts";
import {
  validateDriverName,
  validateLabelName,
  validatePoolName,
  validateShareId,
} from "./device-names.ts";
import {
  CONFIGS_MAX,
  validateBindingConditions,
  validateConfiguration,
  validateObject,
} from "./device-parts.ts";
import { validateList, validateSet } from "./lists.ts";

const RESERVED_FOR_MAX = 256;
const RESULTS_MAX = 32;
const DEVICE_CONDITIONS_MAX = 8;
const DEVICE_DATA_BYTES_MAX = 10 * 1024;
const IPS_MAX = 16;
const INTERFACE_NAME_BYTES_MAX = 256;
const HARDWARE_ADDRESS_BYTES_MAX = 128;
const CONFIG_SOURCES = ["FromClaim", "FromClass"];

interface DeviceKey {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string;
}

export function validateClaimStatus(
  claim: ResourceClaim,
  oldClaim: ResourceClaim,
  context: RuleContext,
): FieldError[] {
  const path = Path.of("status");
  const { metadata, spec, status } = claim;
  const { status: old } = oldClaim;
  const { allocation, reservedFor, devices } = status;
  const allocated = new Set((allocation?.devices.results ?? []).map(deviceKey));
  const errors = [
    ...validateAdminResults(status, old, context),
    ...validateKubeMetaUpdate(claim, oldClaim),
    ...validateSet(
      reservedFor,
      RESERVED_FOR_MAX,
      validateConsumer,
      ({ uid }) => uid,
      path.child("reservedFor"),
    ),
    ...validateSet(
      devices,
      Infinity,
      (device, at) => validateDeviceStatus(device, allocated, at),
      deviceKey,
      path.child("devices"),
      shownKey,
    ),
    ...validateReservations(status, old, metadata.deletionTimestamp !== undefined),
  ];
  const allocationPath = path.child("allocation");
  if (old.allocation !== undefined && allocation !== undefined) {
    if (!semanticEqual(allocation, old.allocation)) {
      const value = internalForm("resource.v1.AllocationResult", allocation);
      errors.push(invalid(allocationPath, value, "field is immutable"));
    }
  } else if (allocation !== undefined) {
    errors.push(...validateAllocation(allocation, requestNames(spec.devices), allocationPath));
  }
  return errors;
}

/** A device that the claim no longer has needs no status. */
export function dropDeallocatedDevices(
  status: Draft<ResourceClaimStatus>,
  old: ResourceClaimStatus,
): void {
  if (status.devices === undefined) return;
  const now = new Set((status.allocation?.devices.results ?? []).map(deviceKey));
  const gone = new Set(
    (old.allocation?.devices.results ?? []).map(deviceKey).filter((key) => !now.has(key)),
  );
  const kept = status.devices.filter((device) => !gone.has(deviceKey(device)));
  if (kept.length === 0) delete status.devices;
  else status.devices = kept;
}

function deviceKey({ driver, pool, device, shareID = "" }: DeviceKey): string {
  return [driver, pool, device, shareID].join("\n");
}

function shownKey({ driver, pool, device, shareID = "" }: DeviceKey): unknown {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID };
}

function validateAdminResults(
  status: ResourceClaimStatus,
  old: ResourceClaimStatus,
  { namespaceLabels }: RuleContext,
): FieldError[] {
  const isAdmin = ({ adminAccess }: DeviceRequestAllocationResult) => adminAccess === true;
  if ((old.allocation?.devices.results ?? []).some(isAdmin)) return [];
  const index = (status.allocation?.devices.results ?? []).findIndex(isAdmin);
  if (index < 0) return [];
  const results = Path.of("status", "allocation", "devices", "results");
  return adminAccessFault(results.index(index).child("adminAccess"), namespaceLabels?.());
}

function validateReservations(
  { allocation, reservedFor = [] }: ResourceClaimStatus,
  old: ResourceClaimStatus,
  deleted: boolean,
): FieldError[] {
  const path = Path.of("status", "reservedFor");
  if (reservedFor.length === 0) return [];
  if (allocation === undefined) {
    return [forbidden(path, "may not be specified when `allocated` is not set")];
  }
  const before = old.reservedFor ?? [];
  const added = reservedFor.some((now) => !before.some((then) => semanticEqual(now, then)));
  if (!deleted || !added) return [];
  const detail =
    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
  return [forbidden(path, detail)];
}

function validateConsumer(consumer: ResourceClaimConsumerReference, path: Path): FieldError[] {
  return (["resource", "name", "uid"] as const)
    .filter((field) => consumer[field] === "")
    .map((field) => required(path.child(field), ""));
}

function validateAllocation(
  { devices, nodeSelector }: AllocationResult,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  const devicesPath = path.child("devices");
  const errors = [
    ...validateList(
      devices.results,
      RESULTS_MAX,
      (result, at) => validateResult(result, hasRequest, at),
      devicesPath.child("results"),
    ),
    ...validateList(
      devices.config,
      2 * CONFIGS_MAX, // the class's and the claim's
      (config, at) => validateAllocatedConfig(config, hasRequest, at),
      devicesPath.child("config"),
    ),
  ];
  if (nodeSelector !== undefined) {
    validateNodeSelector(nodeSelector, false, path.child("nodeSelector"), errors);
  }
  return errors;
}

function validateResult(
  result: DeviceRequestAllocationResult,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  const { request, driver, pool, device, shareID } = result;
  return [
    ...validateRequestName(request, hasRequest, path.child("request")),
    ...validateDriverName(driver, path.child("driver")),
    ...validatePoolName(pool, path.child("pool")),
    ...validateLabelName(device, path.child("device")),
    ...validateBindingConditions(result, path),
    ...(shareID === undefined ? [] : validateShareId(shareID, path.child("shareID"))),
  ];
}

function validateAllocatedConfig(
  config: DeviceAllocationConfiguration,
  hasRequest: HasRequest,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const sourcePath = path.child("source");
  if (config.source === "") errors.push(required(sourcePath, ""));
  else if (!CONFIG_SOURCES.includes(config.source)) {
    errors.push(notSupported(sourcePath, config.source, CONFIG_SOURCES));
  }
  return [
    ...errors,
    ...validateRequestNames(config.requests, hasRequest, path.child("requests")),
    ...validateConfiguration(config, false, path),
  ];
}

function validateDeviceStatus(
  status: AllocatedDeviceStatus,
  allocated: ReadonlySet<string>,
  path: Path,
): FieldError[] {
  const { driver, pool, device, shareID, data, networkData } = status;
  const conditions = status.conditions ?? [];
  const conditionsPath = path.child("conditions");
  const errors = [
    ...validateDriverName(driver, path.child("driver")),
    ...validatePoolName(pool, path.child("pool")),
    ...validateLabelName(device, path.child("device")),
    ...(shareID === undefined ? [] : validateShareId(shareID, path.child("shareID"))),
  ];
  if (!allocated.has(deviceKey(status))) {
    errors.push(invalid(path, shownKey(status), "must be an allocated device in the claim"));
  }
  if (conditions.length > DEVICE_CONDITIONS_MAX) {
    errors.push(tooMany(conditionsPath, conditions.length, DEVICE_CONDITIONS_MAX));
  }
  errors.push(...validateConditions(conditions, conditionsPath));
  if (data !== undefined && data !== null) {
    errors.push(...validateObject(data, DEVICE_DATA_BYTES_MAX, path.child("data")));
  }
  if (networkData !== undefined) {
    errors.push(...validateNetworkData(networkData, path.child("networkData")));
  }
  return errors;
}

function validateNetworkData(data: NetworkDeviceData, path: Path): FieldError[] {
  const { interfaceName = "", hardwareAddress = "", ips } = data;
  const errors: FieldError[] = [];
  if (utf8Length(interfaceName) > INTERFACE_NAME_BYTES_MAX) {
    errors.push(tooLong(path.child("interfaceName"), INTERFACE_NAME_BYTES_MAX));
  }
  if (utf8Length(hardwareAddress) > HARDWARE_ADDRESS_BYTES_MAX) {
    errors.push(tooLong(path.child("hardwareAddress"), HARDWARE_ADDRESS_BYTES_MAX));
  }
  const validateIp = (ip: string, at: Path) => invalidEach(at, ip, isInterfaceAddress(ip));
  return [...errors, ...validateSet(ips, IPS_MAX, validateIp, (ip) => ip, path.child("ips"))];
}
