/**
 * resource.k8s.io/v1beta1, which is stored as v1. There a request's `exactly` stood in the request
 * itself, a device's facts stood in `basic`, and a slice's node was a plain text.
 */
import type * as v1 from "#api/generated/resource.v1.ts";
import type * as v1beta1 from "#api/generated/resource.v1beta1.ts";

export function claimToV1({ devices, ...rest }: v1beta1.ResourceClaimSpec): v1.ResourceClaimSpec {
  const requests = devices.requests?.map(requestToV1) ?? null;
  return { ...rest, devices: { ...devices, requests } };
}

export function claimFromV1({ devices, ...rest }: v1.ResourceClaimSpec): v1beta1.ResourceClaimSpec {
  const requests = devices.requests?.map(requestFromV1) ?? null;
  return { ...rest, devices: { ...devices, requests } } as v1beta1.ResourceClaimSpec;
}

function requestToV1(request: v1beta1.DeviceRequest): v1.DeviceRequest {
  const { name, firstAvailable, ...own } = request;
  const alternatives = firstAvailable === undefined ? {} : { firstAvailable };
  const isEmpty = Object.entries(own).every(([, value]) => value === "" || value === undefined);
  if (isEmpty) return { name, ...alternatives };
  const exactly = { ...own, deviceClassName: own.deviceClassName ?? "" };
  return { name, exactly, ...alternatives };
}

function requestFromV1({ name, exactly, firstAvailable }: v1.DeviceRequest): v1beta1.DeviceRequest {
  const { deviceClassName, ...others } = exactly ?? { deviceClassName: "" };
  const { selectors, allocationMode, count, adminAccess, tolerations, capacity } = others as Omit<
    v1.ExactDeviceRequest,
    "deviceClassName"
  >;
  return defined<v1beta1.DeviceRequest>({
    name,
    deviceClassName,
    selectors,
    allocationMode,
    count,
    adminAccess,
    firstAvailable,
    tolerations,
    capacity,
  });
}

export function sliceToV1(spec: v1beta1.ResourceSliceSpec): v1.ResourceSliceSpec {
  const { nodeName = "", allNodes = false, devices, ...rest } = spec;
  return {
    ...rest,
    ...(nodeName === "" ? {} : { nodeName }),
    ...(allNodes ? { allNodes } : {}),
    ...(devices === undefined
      ? {}
      : { devices: devices.map(({ name, basic }) => ({ name, ...basic })) }),
  };
}

export function sliceFromV1(spec: v1.ResourceSliceSpec): v1beta1.ResourceSliceSpec {
  const { devices, ...rest } = spec;
  if (devices === undefined) return rest;
  return { ...rest, devices: devices.map(({ name, ...basic }) => ({ name, basic })) };
}

type Sparse<T> = { [Key in keyof T]: T[Key] | undefined };

/** The record without the keys that have no value. */
function defined<T extends object>(record: Sparse<T>): T {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
