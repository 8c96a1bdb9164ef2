/**
 * The part of etcd's API that administers a cluster: names and numbers of the public protocol
 * (etcdserverpb, services Cluster and Maintenance). What is not here is skipped when it is received.
 */
import { defineMessage } from "#lib/protobuf/message.ts";
import type { Method } from "#store/etcd/rpc.ts";

/** Of an answer: which member gave it. */
export interface MemberHeader {
  memberId: bigint;
  revision: number;
}
const header = defineMessage<MemberHeader>({ memberId: [2, "int64"], revision: [3, "int"] });

export interface Member {
  id: bigint;
  /** Empty until the member has started for the first time. */
  name: string;
  peerUrls: readonly string[];
  clientUrls: readonly string[];
  isLearner: boolean;
}
const member = defineMessage<Member>({
  id: [1, "int64"],
  name: [2, "text"],
  peerUrls: [3, { list: "text" }],
  clientUrls: [4, { list: "text" }],
  isLearner: [5, "bool"],
});

const nothing = defineMessage<object>({});

export interface MembersResponse {
  members: Member[];
}
const members = defineMessage<MembersResponse>({ members: [2, { many: member }] });

export const memberList: Method<object, MembersResponse> = {
  path: "/etcdserverpb.Cluster/MemberList",
  request: nothing,
  response: members,
};

export interface MemberAddRequest {
  peerUrls: readonly string[];
  isLearner: boolean;
}
export interface MemberAddResponse {
  member: Member | undefined;
  members: Member[];
}
export const memberAdd: Method<MemberAddRequest, MemberAddResponse> = {
  path: "/etcdserverpb.Cluster/MemberAdd",
  request: defineMessage<MemberAddRequest>({
    peerUrls: [1, { list: "text" }],
    isLearner: [2, "bool"],
  }),
  response: defineMessage<MemberAddResponse>({
    member: [2, { one: member }],
    members: [3, { many: member }],
  }),
};

export interface MemberIdRequest {
  id: bigint;
}
const memberId = defineMessage<MemberIdRequest>({ id: [1, "int64"] });

export const memberRemove: Method<MemberIdRequest, MembersResponse> = {
  path: "/etcdserverpb.Cluster/MemberRemove",
  request: memberId,
  response: members,
};

export const memberPromote: Method<MemberIdRequest, MembersResponse> = {
  path: "/etcdserverpb.Cluster/MemberPromote",
  request: memberId,
  response: members,
};

export interface MemberUpdateRequest {
  id: bigint;
  peerUrls: readonly string[];
}
export const memberUpdate: Method<MemberUpdateRequest, MembersResponse> = {
  path: "/etcdserverpb.Cluster/MemberUpdate",
  request: defineMessage<MemberUpdateRequest>({
    id: [1, "int64"],
    peerUrls: [2, { list: "text" }],
  }),
  response: members,
};

export interface MemberStatus {
  header: MemberHeader | undefined;
  version: string;
  dbBytes: number;
  leader: bigint;
  raftIndex: number;
  raftTerm: number;
  appliedIndex: number;
  errors: readonly string[];
  dbBytesInUse: number;
  isLearner: boolean;
}
export const memberStatus: Method<object, MemberStatus> = {
  path: "/etcdserverpb.Maintenance/Status",
  request: nothing,
  response: defineMessage<MemberStatus>({
    header: [1, { one: header }],
    version: [2, "text"],
    dbBytes: [3, "int"],
    leader: [4, "int64"],
    raftIndex: [5, "int"],
    raftTerm: [6, "int"],
    appliedIndex: [7, "int"],
    errors: [8, { list: "text" }],
    dbBytesInUse: [9, "int"],
    isLearner: [10, "bool"],
  }),
};

export const defragment: Method<object, object> = {
  path: "/etcdserverpb.Maintenance/Defragment",
  request: nothing,
  response: nothing,
};

export interface MoveLeaderRequest {
  target: bigint;
}
export const moveLeader: Method<MoveLeaderRequest, object> = {
  path: "/etcdserverpb.Maintenance/MoveLeader",
  request: defineMessage<MoveLeaderRequest>({ target: [1, "int64"] }),
  response: nothing,
};

export const ALARM_ACTION = { get: 0, deactivate: 2 } as const;
export const ALARM_NAMES = ["NONE", "NOSPACE", "CORRUPT"] as const;

export interface Alarm {
  memberId: bigint;
  alarm: number;
}
const alarmMessage = defineMessage<Alarm>({ memberId: [1, "int64"], alarm: [2, "int"] });

export interface AlarmRequest {
  action: number;
  memberId: bigint;
  alarm: number;
}
export interface AlarmResponse {
  alarms: Alarm[];
}
export const alarm: Method<AlarmRequest, AlarmResponse> = {
  path: "/etcdserverpb.Maintenance/Alarm",
  request: defineMessage<AlarmRequest>({
    action: [1, "int"],
    memberId: [2, "int64"],
    alarm: [3, "int"],
  }),
  response: defineMessage<AlarmResponse>({ alarms: [2, { many: alarmMessage }] }),
};

export interface SnapshotPart {
  remainingBytes: number;
  blob: Uint8Array;
}
export const snapshot: Method<object, SnapshotPart> = {
  path: "/etcdserverpb.Maintenance/Snapshot",
  request: nothing,
  response: defineMessage<SnapshotPart>({ remainingBytes: [2, "int"], blob: [3, "bytes"] }),
};
