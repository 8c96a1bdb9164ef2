/** Reads and writes of a cgroup on block devices: the files of both versions of cgroups. Pure but for names. */
import type { ReadText } from "./small-files.ts";

export interface DeviceIo {
  /** `254:0` */
  readonly device: string;
  /** By operation: Read, Write, and with version 1 also Sync, Async, Discard, Total. */
  readonly bytes: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, number>>;
}

/** Version 1: lines such as `254:0 Read 4096`; the last line is a total of all devices. */
export function parseBlkio(bytes: string, operations: string): readonly DeviceIo[] {
  const byDevice = new Map<string, { bytes: Counts; operations: Counts }>();
  const take = (text: string, table: "bytes" | "operations"): void => {
    for (const line of text.split("\n")) {
      const [device = "", operation, value] = line.split(" ");
      if (operation === undefined || value === undefined) continue;
      const entry = byDevice.get(device) ?? { bytes: {}, operations: {} };
      entry[table][operation] = Number(value);
      byDevice.set(device, entry);
    }
  };
  take(bytes, "bytes");
  take(operations, "operations");
  return [...byDevice].map(([device, counts]) => ({ device, ...counts }));
}

/** Version 2, `io.stat`: lines such as `254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
export function parseIoStat(text: string): readonly DeviceIo[] {
  return text.split("\n").flatMap((line) => {
    const [device = "", ...items] = line.split(" ");
    const counts = new Map(items.map((item) => item.split("=") as [string, string]));
    if (!counts.has("rbytes")) return [];
    const value = (name: string): number => Number(counts.get(name) ?? 0);
    return [
      {
        device,
        bytes: { Read: value("rbytes"), Write: value("wbytes") },
        operations: { Read: value("rios"), Write: value("wios") },
      },
    ];
  });
}

/** `/dev/vda` for `254:0`; "" if the kernel does not know the device. */
export async function blockDeviceName(device: string, read: ReadText): Promise<string> {
  const text = (await read(`/sys/dev/block/${device}/uevent`)) ?? "";
  const name = /^DEVNAME=(.+)$/m.exec(text)?.[1];
  return name === undefined ? "" : `/dev/${name}`;
}

type Counts = Record<string, number>;
