/**
 * Opening a store writes a little too. The data file nearly always has room for that; for the rest,
 * a file that can be removed keeps it possible on a full disk.
 */
import { existsSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "#store/contract.ts";

const RESERVE_BYTES = 1024 * 1024;

/** `hasRoom`: whether the data file has some pages to spare. */
export function makeRoomToOpen(directory: string, hasRoom: () => boolean): void {
  if (freeBytes(directory) >= RESERVE_BYTES || hasRoom()) return;
  rmSync(join(directory, "reserve"), { force: true });
  if (freeBytes(directory) < RESERVE_BYTES / 2) {
    throw new StoreError({ code: "NoSpace" }, `${directory} cannot be opened: its disk is full`);
  }
}

export function keepReserve(directory: string): void {
  const reserve = join(directory, "reserve");
  if (existsSync(reserve) || freeBytes(directory) < 4 * RESERVE_BYTES) return;
  writeFileSync(reserve, Buffer.alloc(RESERVE_BYTES), { mode: 0o600 });
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
