/**
 * The part of etcd's API that the store uses: names and numbers of the public protocol
 * (etcdserverpb, mvccpb). What is not here is skipped when it is received.
 */
import { type Codec, defineMessage } from "#lib/protobuf/message.ts";

export interface Method<Request, Response> {
  readonly path: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

export interface Header {
  revision: number;
}
const header = defineMessage<Header>({ revision: [3, "int"] });

export interface KeyValue {
  key: string;
  createRevision: number;
  modRevision: number;
  version: number;
  value: Uint8Array;
  lease: bigint;
}
const keyValue = defineMessage<KeyValue>({
  key: [1, "text"],
  createRevision: [2, "int"],
  modRevision: [3, "int"],
  version: [4, "int"],
  value: [5, "bytes"],
  lease: [6, "int64"],
});

export interface RangeRequest {
  key: Uint8Array;
  rangeEnd: Uint8Array;
  limit: number;
  revision: number;
  keysOnly: boolean;
  countOnly: boolean;
}
const rangeRequest = defineMessage<RangeRequest>({
  key: [1, "bytes"],
  rangeEnd: [2, "bytes"],
  limit: [3, "int"],
  revision: [4, "int"],
  keysOnly: [8, "bool"],
  countOnly: [9, "bool"],
});

export interface RangeResponse {
  header: Header | undefined;
  kvs: KeyValue[];
  more: boolean;
  count: number;
}
const rangeResponse = defineMessage<RangeResponse>({
  header: [1, { one: header }],
  kvs: [2, { many: keyValue }],
  more: [3, "bool"],
  count: [4, "int"],
});

export interface PutRequest {
  key: string;
  value: Uint8Array;
  lease: bigint;
}
const putRequest = defineMessage<PutRequest>({
  key: [1, "text"],
  value: [2, "bytes"],
  lease: [3, "int64"],
});

export interface DeleteRangeRequest {
  key: string;
}
const deleteRangeRequest = defineMessage<DeleteRangeRequest>({ key: [1, "text"] });

/** A range of one key. */
export interface KeyRequest {
  key: string;
}
const keyRequest = defineMessage<KeyRequest>({ key: [1, "text"] });

/** Exactly one of them. */
export interface RequestOp {
  range?: KeyRequest;
  put?: Partial<PutRequest>;
  deleteRange?: Partial<DeleteRangeRequest>;
}
const requestOp = defineMessage<RequestOp>({
  range: [1, { one: keyRequest }],
  put: [2, { one: putRequest }],
  deleteRange: [3, { one: deleteRangeRequest }],
});

export interface ResponseOp {
  range: RangeResponse | undefined;
}
const responseOp = defineMessage<ResponseOp>({ range: [1, { one: rangeResponse }] });

export const COMPARE = { equal: 0, greater: 1 } as const;
export const TARGET = { version: 0, modRevision: 2 } as const;

/** `target` says which of the two numbers counts. A zero may be left out: it reads as zero. */
export interface Compare {
  result: number;
  target: number;
  key: string;
  version: number;
  modRevision: number;
}
const compare = defineMessage<Compare>({
  result: [1, "int"],
  target: [2, "int"],
  key: [3, "text"],
  version: [4, "int"],
  modRevision: [6, "int"],
});

export interface TxnRequest {
  compare: Partial<Compare>[];
  success: RequestOp[];
  failure: RequestOp[];
}
export interface TxnResponse {
  header: Header | undefined;
  succeeded: boolean;
  responses: ResponseOp[];
}

export interface WatchCreate {
  key: Uint8Array;
  rangeEnd: Uint8Array;
  startRevision: number;
  prevKv: boolean;
}
const watchCreate = defineMessage<WatchCreate>({
  key: [1, "bytes"],
  rangeEnd: [2, "bytes"],
  startRevision: [3, "int"],
  prevKv: [6, "bool"],
});

export interface WatchRequest {
  create?: Partial<WatchCreate>;
}

export interface Event {
  type: number;
  kv: KeyValue | undefined;
  prevKv: KeyValue | undefined;
}
export const EVENT_DELETE = 1;
const event = defineMessage<Event>({
  type: [1, "int"],
  kv: [2, { one: keyValue }],
  prevKv: [3, { one: keyValue }],
});

export interface WatchResponse {
  header: Header | undefined;
  created: boolean;
  canceled: boolean;
  compactRevision: number;
  cancelReason: string;
  events: Event[];
}

export const range: Method<RangeRequest, RangeResponse> = {
  path: "/etcdserverpb.KV/Range",
  request: rangeRequest,
  response: rangeResponse,
};

export const txn: Method<TxnRequest, TxnResponse> = {
  path: "/etcdserverpb.KV/Txn",
  request: defineMessage<TxnRequest>({
    compare: [1, { many: compare }],
    success: [2, { many: requestOp }],
    failure: [3, { many: requestOp }],
  }),
  response: defineMessage<TxnResponse>({
    header: [1, { one: header }],
    succeeded: [2, "bool"],
    responses: [3, { many: responseOp }],
  }),
};

export interface CompactionRequest {
  revision: number;
  /** Answer only when what was given up is gone. */
  physical: boolean;
}

export const compact: Method<CompactionRequest, object> = {
  path: "/etcdserverpb.KV/Compact",
  request: defineMessage<CompactionRequest>({ revision: [1, "int"], physical: [2, "bool"] }),
  response: defineMessage<object>({}),
};

export const watch: Method<WatchRequest, WatchResponse> = {
  path: "/etcdserverpb.Watch/Watch",
  request: defineMessage<WatchRequest>({
    create: [1, { one: watchCreate }],
  }),
  response: defineMessage<WatchResponse>({
    header: [1, { one: header }],
    created: [3, "bool"],
    canceled: [4, "bool"],
    compactRevision: [5, "int"],
    cancelReason: [6, "text"],
    events: [11, { many: event }],
  }),
};

export interface LeaseGrantRequest {
  ttlSeconds: number;
}
export interface LeaseGrantResponse {
  id: bigint;
}

export const leaseGrant: Method<LeaseGrantRequest, LeaseGrantResponse> = {
  path: "/etcdserverpb.Lease/LeaseGrant",
  request: defineMessage<LeaseGrantRequest>({ ttlSeconds: [1, "int"] }),
  response: defineMessage<LeaseGrantResponse>({ id: [2, "int64"] }),
};

export interface LeaseTimeToLiveRequest {
  id: bigint;
}
export interface LeaseTimeToLiveResponse {
  /** Below zero once the lease is over. */
  ttlSeconds: number;
}

export const leaseTimeToLive: Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> = {
  path: "/etcdserverpb.Lease/LeaseTimeToLive",
  request: defineMessage<LeaseTimeToLiveRequest>({ id: [1, "int64"] }),
  response: defineMessage<LeaseTimeToLiveResponse>({ ttlSeconds: [3, "int"] }),
};
