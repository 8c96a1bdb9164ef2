/**
 * Saves etcd's own snapshot into a file: the database of one member, with the SHA-256 of it at its end,
 * as `etcdctl snapshot save` writes it. The file has its name only when it is whole and proven.
 */
import { createHash } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import type { EtcdAdmin } from "./etcd-admin.ts";

const HASH_BYTES = 32;
/** The database is made of pages of this size; a snapshot without a hash has whole ones only. */
const PAGE_BYTES = 512;

export async function saveEtcdSnapshot(
  admin: EtcdAdmin,
  endpoint: string,
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const draft = `${file}.part`;
  const handle = await open(draft, "wx", 0o600);
  const hash = createHash("sha256");
  let tail: Buffer = Buffer.alloc(0);
  let bytes = 0;
  try {
    for await (const part of admin.snapshot(endpoint, signal)) {
      await handle.writeFile(part);
      bytes += part.length;
      const held = Buffer.concat([tail, part]);
      const cut = Math.max(0, held.length - HASH_BYTES);
      hash.update(held.subarray(0, cut));
      tail = held.subarray(cut);
    }
    if (bytes % PAGE_BYTES !== HASH_BYTES || !hash.digest().equals(tail)) {
      throw new Error("the snapshot is damaged: its SHA-256 is another one");
    }
    await handle.sync();
    await rename(draft, file);
    return bytes;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
