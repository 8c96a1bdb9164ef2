/**
 * The store of a cluster of machines: a real etcd over gRPC, shared by any number of API servers,
 * ours and upstream's. Keys are used as they are given, so with upstream's layout
 * (`/registry/<resource>/<namespace>/<name>`) either side reads the other's data.
 *
 * Beyond the contract: any member may fail while the others carry on; a write with conditions whose
 * answer was lost is settled by asking again; watches go on with another member where they were;
 * while no member answers everything fails with `Unavailable` and works again when one does.
 */

import type { Dial, TlsOptions } from "#lib/http2/connect-http2.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import {
  ETCD_VALUE_BYTES_MAX,
  OPERATIONS_MAX,
  type Operation,
  type Store,
  StoreError,
} from "./contract.ts";
import { runCompactor } from "./etcd/compactor.ts";
import { Endpoints } from "./etcd/endpoints.ts";
import { EtcdStore } from "./etcd/etcd-store.ts";
import { openSnapshot } from "./snapshot.ts";

export interface EtcdOptions {
  /** The members' client addresses, such as https://10.0.0.1:2379. */
  readonly endpoints: readonly string[];
  readonly tls?: TlsOptions;
  /** Makes the connections; they are made directly without it. */
  readonly dial?: Dial | undefined;
  readonly clock: Clock;
  readonly callTimeoutMs?: number;
  /** Says when etcd is lost and when it is back. */
  readonly logger?: Logger;
  /** Makes spans of calls that are made within a span. */
  readonly tracer?: Tracer | undefined;
  /** How much history to keep, five minutes unless given; 0 leaves compaction to others. */
  readonly historyMs?: number;
  /** Calls `use` whenever the members have changed, until the signal aborts. */
  onMembers?(use: (endpoints: readonly string[]) => void, signal: AbortSignal): void;
}

const CALL_TIMEOUT_MS = 10_000;
const HISTORY_MS = 5 * 60_000;

/** Fails with `Unavailable` if no member answers. */
export async function openEtcdStore(options: EtcdOptions): Promise<Store> {
  const { clock, historyMs = HISTORY_MS } = options;
  const endpoints = new Endpoints({ callTimeoutMs: CALL_TIMEOUT_MS, ...options });
  const store = new EtcdStore({ endpoints, clock });
  try {
    await store.currentRevision();
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  options.onMembers?.((members) => endpoints.use(members), store.signal);
  if (historyMs > 0) void runCompactor(endpoints, clock, historyMs, store.signal);
  return store;
}

/**
 * Writes the keys of a snapshot into an etcd that has none. They get new revisions, because only
 * etcd itself gives those out: what clients remember of the old ones does not hold any more. To
 * bring back an etcd with its revisions, use etcd's own snapshots.
 */
export async function restoreEtcdStore(path: string, store: Store, clock: Clock): Promise<void> {
  const { entries } = await openSnapshot(path);
  if ((await store.count("")) > 0) {
    throw new StoreError({ code: "InUse" }, "etcd has keys already: they are not overwritten");
  }
  let waiting: Operation[] = [];
  let waitingBytes = 0;
  const write = async (): Promise<void> => {
    const answer = await store.transact(waiting);
    if (!answer.ok) throw new StoreError({ code: "InUse" }, "etcd is being written to meanwhile");
    [waiting, waitingBytes] = [[], 0];
  };
  for await (const { key, value, expiresAtMs } of entries) {
    const leftSeconds = Math.ceil((expiresAtMs - clock.nowMs()) / 1000);
    if (expiresAtMs > 0 && leftSeconds <= 0) continue;
    const ttl = expiresAtMs > 0 ? { ttlSeconds: leftSeconds } : {};
    const full =
      waiting.length === OPERATIONS_MAX || waitingBytes + value.length > ETCD_VALUE_BYTES_MAX;
    if (full && waiting.length > 0) await write();
    waiting.push({ op: "put", key, value, mustNotExist: true, ...ttl });
    waitingBytes += key.length + value.length;
  }
  if (waiting.length > 0) await write();
}
