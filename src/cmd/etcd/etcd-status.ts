/** `k8ts etcd status`: what every member says of itself. */
import { ALARM_NAMES, type Member } from "#etcd/admin-rpc.ts";
import { type EtcdAdmin, memberIdText } from "#etcd/etcd-admin.ts";
import { messageOf } from "#lib/caught.ts";
import { columnsText } from "./columns-text.ts";

interface MemberState {
  readonly name: string;
  readonly id: string;
  readonly endpoint: string;
  readonly reachable: boolean;
  readonly version?: string;
  readonly dbBytes?: number;
  readonly dbBytesInUse?: number;
  readonly role?: "leader" | "follower" | "learner";
  readonly raftTerm?: number;
  readonly raftIndex?: number;
  readonly appliedIndex?: number;
  readonly problems: readonly string[];
}

const HEADER = [
  ...["NAME", "ENDPOINT", "ID", "VERSION", "ROLE", "DB SIZE", "IN USE"],
  ...["TERM", "INDEX", "APPLIED", "PROBLEMS"],
];

export async function statusText(
  admin: EtcdAdmin,
  asJson: boolean,
  signal: AbortSignal,
): Promise<string> {
  const members = await admin.members(signal);
  // Without a quorum nothing is known of alarms.
  const alarms = await admin.alarms(signal).catch(() => []);
  const states = await Promise.all(
    members.map(async (member) => {
      const raised = alarms
        .filter(({ memberId }) => memberId === member.id)
        .map(({ alarm }) => `alarm ${ALARM_NAMES[alarm] ?? alarm}`);
      return await stateOf(admin, member, raised, signal);
    }),
  );
  if (asJson) return `${JSON.stringify(states, undefined, 2)}\n`;
  return columnsText([HEADER, ...states.map(rowOf)]);
}

async function stateOf(
  admin: EtcdAdmin,
  { id, name, clientUrls, isLearner }: Member,
  alarms: readonly string[],
  signal: AbortSignal,
): Promise<MemberState> {
  const known = { name, id: memberIdText(id), endpoint: clientUrls[0] ?? "" };
  if (known.endpoint === "") {
    return { ...known, reachable: false, problems: ["has not started", ...alarms] };
  }
  try {
    const status = await admin.status(known.endpoint, signal);
    const { version, dbBytes, dbBytesInUse, leader, raftTerm, raftIndex, appliedIndex } = status;
    const role = isLearner ? "learner" : leader === id ? "leader" : "follower";
    return {
      ...{ ...known, reachable: true, version, dbBytes, dbBytesInUse, role },
      ...{
        raftTerm,
        raftIndex,
        appliedIndex,
        problems: [...new Set([...alarms, ...status.errors])],
      },
    };
  } catch (error) {
    return { ...known, reachable: false, problems: [messageOf(error), ...alarms] };
  }
}

function rowOf(state: MemberState): string[] {
  const text = (value: string | number | undefined): string =>
    value === undefined ? "-" : String(value);
  return [
    ...[state.name || "-", state.endpoint || "-", state.id, text(state.version), text(state.role)],
    ...[text(state.dbBytes), text(state.dbBytesInUse), text(state.raftTerm)],
    ...[text(state.raftIndex), text(state.appliedIndex), state.problems.join("; ") || "none"],
  ];
}
