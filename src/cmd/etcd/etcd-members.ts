/** `k8ts etcd member`: lists, adds, removes and replaces members of the cluster's etcd. */
import type { Member } from "#etcd/admin-rpc.ts";
import { clientUrlOf } from "#etcd/defragment-members.ts";
import { type EtcdAdmin, memberIdText } from "#etcd/etcd-admin.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { columnsText } from "./columns-text.ts";

export async function membersText(
  admin: EtcdAdmin,
  asJson: boolean,
  signal: AbortSignal,
): Promise<string> {
  const members = await admin.members(signal);
  if (asJson) {
    const rows = members.map((one) => ({ ...one, id: memberIdText(one.id) }));
    return `${JSON.stringify(rows, undefined, 2)}\n`;
  }
  const rows = members.map(({ id, name, peerUrls, clientUrls, isLearner }) => [
    memberIdText(id),
    name === "" ? "unstarted" : isLearner ? "learner" : "started",
    name,
    peerUrls.join(","),
    clientUrls.join(","),
  ]);
  return columnsText([["ID", "STATUS", "NAME", "PEER ADDRESSES", "CLIENT ADDRESSES"], ...rows]);
}

export async function addMember(
  admin: EtcdAdmin,
  peerUrl: string,
  signal: AbortSignal,
): Promise<string> {
  if (!/^https?:\/\/[^/]+:\d+$/.test(peerUrl)) {
    throw new FlagError(`${peerUrl} is not https://HOST:2380`);
  }
  const members = await admin.addLearner(peerUrl, signal);
  return startHint(members, peerUrl);
}

/** The leader hands over first, so that nothing waits for an election. */
export async function removeMember(
  admin: EtcdAdmin,
  nameOrId: string,
  signal: AbortSignal,
): Promise<string> {
  const members = await admin.members(signal);
  const member = find(members, nameOrId);
  await handOverLeadership(admin, member, members, signal);
  await admin.remove(member.id, signal);
  return `removed ${member.name || memberIdText(member.id)}; ${members.length - 1} members are left\n`;
}

/** Removes the entry of the lost member and adds one for its successor at the same address. */
export async function replaceMember(
  admin: EtcdAdmin,
  nameOrId: string,
  signal: AbortSignal,
): Promise<string> {
  const members = await admin.members(signal);
  const member = find(members, nameOrId);
  const [peerUrl = ""] = member.peerUrls;
  await handOverLeadership(admin, member, members, signal);
  await admin.remove(member.id, signal);
  const added = await admin.addLearner(peerUrl, signal);
  return (
    `${member.name || memberIdText(member.id)} may begin anew at ${peerUrl}: end the cluster on its machine ` +
    "(`k8ts down`), remove DATA/etcd there, and start it (`k8ts up`)\n" +
    startHint(added, peerUrl)
  );
}

async function handOverLeadership(
  admin: EtcdAdmin,
  member: Member,
  members: readonly Member[],
  signal: AbortSignal,
): Promise<void> {
  const voters = members.filter((one) => !one.isLearner && one.name !== "");
  const successor = voters.find((one) => one.id !== member.id);
  if (successor === undefined) {
    throw new FlagError(`${member.name} is the only member with a vote: its cluster would be gone`);
  }
  if (member.name === "" || member.isLearner) return;
  const status = await admin.status(clientUrlOf(member), signal).catch(() => undefined);
  if (status?.leader !== member.id) return;
  await admin.moveLeader(clientUrlOf(member), successor.id, signal);
}

function find(members: readonly Member[], nameOrId: string): Member {
  const found = members.find(({ name, id }) => name === nameOrId || memberIdText(id) === nameOrId);
  if (found !== undefined) return found;
  const names = members.map(({ name, id }) => name || memberIdText(id)).join(", ");
  throw new FlagError(`there is no member ${nameOrId}; there are ${names}`);
}

/** For an etcd that is started by hand. */
function startHint(members: readonly Member[], peerUrl: string): string {
  const cluster = members.map(
    (one) => `${one.peerUrls.includes(peerUrl) ? "NAME" : one.name}=${one.peerUrls[0]}`,
  );
  return (
    "An etcd that k8ts does not manage starts with:\n" +
    `  etcd --name NAME --initial-advertise-peer-urls ${peerUrl} \\\n` +
    `    --initial-cluster ${cluster.join(",")} --initial-cluster-state existing …\n`
  );
}
