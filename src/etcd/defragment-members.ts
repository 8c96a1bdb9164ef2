/**
 * Gives the free space in the members' databases back to their disks, one member at a time: a member
 * does not answer while it works. Followers come first. Then another member takes over leadership, and the
 * former leader is last, so that the cluster can write all the time. After each member the next one waits
 * until that one has caught up.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Member } from "./admin-rpc.ts";
import type { EtcdAdmin } from "./etcd-admin.ts";

export interface Defragmented {
  readonly name: string;
  readonly endpoint: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly tookMs: number;
}

/** How far behind the leader a member may be to count as healthy. */
const LAG_MAX = 100;
const HEALTHY_WITHIN_MS = 60_000;
const ASK_AGAIN_MS = 100;

export async function defragmentMembers(
  admin: EtcdAdmin,
  clock: Clock,
  onDone: (one: Defragmented) => void,
  signal: AbortSignal,
): Promise<void> {
  const members = await admin.members(signal);
  const statuses = await Promise.all(members.map((one) => admin.status(clientUrlOf(one), signal)));
  const leader = members.find(({ id }) => statuses.some((status) => status.leader === id));
  const order = [
    ...members.filter((one) => one !== leader),
    ...(leader === undefined ? [] : [leader]),
  ];
  for (const member of order) {
    const endpoint = clientUrlOf(member);
    const successor = order.find((one) => one !== member && !one.isLearner);
    if (member === leader && successor !== undefined) {
      await admin.moveLeader(endpoint, successor.id, signal);
    }
    const before = await admin.status(endpoint, signal);
    const startMs = clock.elapsedMs();
    await admin.defragment(endpoint, signal);
    const tookMs = clock.elapsedMs() - startMs;
    const { dbBytes } = await untilHealthy(admin, member, members, clock, signal);
    const [bytesBefore, bytesAfter] = [before.dbBytes, dbBytes];
    onDone({ name: member.name, endpoint, bytesBefore, bytesAfter, tookMs });
  }
}

export function clientUrlOf({ name, clientUrls }: Member): string {
  const url = clientUrls[0];
  if (url === undefined) throw new Error(`the etcd member ${name || "(unnamed)"} has not started`);
  return url;
}

/** Waits until the member has applied nearly all that the cluster has. */
async function untilHealthy(
  admin: EtcdAdmin,
  member: Member,
  members: readonly Member[],
  clock: Clock,
  signal: AbortSignal,
) {
  const endMs = clock.elapsedMs() + HEALTHY_WITHIN_MS;
  for (;;) {
    const status = await admin.status(clientUrlOf(member), signal).catch(() => undefined);
    const others = await Promise.all(
      members.map((one) => admin.status(clientUrlOf(one), signal).catch(() => undefined)),
    );
    const newest = Math.max(...others.map((one) => one?.raftIndex ?? 0));
    const isHealthy =
      status !== undefined && status.leader !== 0n && newest - status.appliedIndex <= LAG_MAX;
    if (isHealthy) return status;
    if (clock.elapsedMs() > endMs) {
      throw new Error(
        `the etcd member ${member.name} has not caught up: the others are left alone`,
      );
    }
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}
