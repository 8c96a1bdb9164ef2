/**
 * `etcd-member.json` in a data directory: what a managed member must know before it is started, and
 * where commands find the cluster.
 */
import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "#pki/private-file.ts";

export interface MemberRecord {
  readonly name: string;
  /** Client addresses of all members, this one's first. */
  readonly endpoints: readonly string[];
  /**
   * - new:     the first member of a cluster
   * - joining: to be added to the cluster of `endpoints`
   * - member:  it was in the cluster before; its data must be there
   */
  readonly state: "new" | "joining" | "member";
}

export function readMemberRecord(dataDir: string): MemberRecord | undefined {
  const text = readPrivateFile(fileIn(dataDir));
  return text === undefined ? undefined : (JSON.parse(text) as MemberRecord);
}

export function writeMemberRecord(dataDir: string, record: MemberRecord): void {
  const text = `${JSON.stringify(record, undefined, 2)}\n`;
  if (readPrivateFile(fileIn(dataDir)) !== text) writePrivateFile(fileIn(dataDir), text, true);
}

/** Where a managed member keeps its data. */
export function memberDataDir(dataDir: string): string {
  return join(dataDir, "etcd");
}

function fileIn(dataDir: string): string {
  return join(dataDir, "etcd-member.json");
}
