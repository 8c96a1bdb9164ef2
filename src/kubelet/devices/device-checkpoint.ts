/** `kubelet_internal_checkpoint`: which container has which devices, over restarts of the kubelet. */
import { join } from "node:path";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { dumpChecksum } from "#kubelet/resize/data-checksum.ts";
import { type ContainerAllocateResponse, containerAllocateResponse } from "./device-messages.ts";

const FILE = "kubelet_internal_checkpoint";

export interface DeviceAllocation {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly deviceIds: readonly string[];
  readonly response: ContainerAllocateResponse;
}

export interface DeviceState {
  readonly allocations: readonly DeviceAllocation[];
  /** Resources that plug-ins had registered. */
  readonly resources: readonly string[];
}

interface StoredEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  /** By NUMA node; -1: not known. */
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  readonly AllocResp: string | null;
}

interface Stored {
  readonly PodDeviceEntries: readonly StoredEntry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[] | null>> | null;
}

export async function writeDeviceState(folder: string, state: DeviceState): Promise<void> {
  const data: Stored = {
    PodDeviceEntries: state.allocations.map((one) => ({
      PodUID: one.podUid,
      ContainerName: one.container,
      ResourceName: one.resource,
      DeviceIDs: { "-1": one.deviceIds },
      AllocResp: containerAllocateResponse.encode(one.response).toString("base64"),
    })),
    RegisteredDevices: Object.fromEntries(state.resources.map((name) => [name, []])),
  };
  const text = JSON.stringify({ Data: data, Checksum: checksumOf(data) });
  await writeFileWhole(join(folder, FILE), text, { mode: 0o600 });
}

/** A file that is missing or damaged counts as empty. */
export async function readDeviceState(folder: string): Promise<DeviceState> {
  const empty: DeviceState = { allocations: [], resources: [] };
  const text = await readTextIfPresent(join(folder, FILE));
  if (text === undefined) return empty;
  try {
    const { Data: data, Checksum: checksum } = JSON.parse(text) as {
      Data: Stored;
      Checksum: number;
    };
    if (checksumOf(data) !== checksum) return empty;
    return {
      allocations: (data.PodDeviceEntries ?? []).map((one) => ({
        podUid: one.PodUID,
        container: one.ContainerName,
        resource: one.ResourceName,
        deviceIds: Object.values(one.DeviceIDs ?? {}).flatMap((ids) => ids ?? []),
        response: containerAllocateResponse.decode(Buffer.from(one.AllocResp ?? "", "base64")),
      })),
      resources: Object.keys(data.RegisteredDevices ?? {}),
    };
  } catch {
    return empty;
  }
}

/** Of the data as upstream's hash function prints it: fields with their types, maps by their keys. */
function checksumOf({ PodDeviceEntries: entries, RegisteredDevices: registered }: Stored): number {
  const list = (values: readonly (string | number)[] | null): string =>
    values === null ? NIL : `[${values.join(" ")}]`;
  const map = (
    values: Readonly<Record<string, readonly string[] | null>> | null,
    compare: (a: string, b: string) => number,
  ): string => {
    if (values === null) return NIL;
    const keys = Object.keys(values).sort(compare);
    return `map[${keys.map((key) => `${key}:${list(values[key] ?? null)}`).join(" ")}]`;
  };
  const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  const bytes = (base64: string | null): string =>
    list(base64 === null ? null : [...Buffer.from(base64, "base64")]);
  const dumps = entries?.map(
    (one) =>
      `{PodUID:(string)${one.PodUID} ContainerName:(string)${one.ContainerName} ResourceName:(string)${one.ResourceName} DeviceIDs:(checkpoint.DevicesPerNUMA)${map(one.DeviceIDs, (a, b) => Number(a) - Number(b))} AllocResp:([]uint8)${bytes(one.AllocResp)}}`,
  );
  return dumpChecksum(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${list(dumps ?? null)} RegisteredDevices:(map[string][]string)${map(registered, byText)}}`,
  );
}

const NIL = "<nil>";
