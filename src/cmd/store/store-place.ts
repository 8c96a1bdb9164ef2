/** Where a store is, as the flags of the commands that work on stores say: a directory or an etcd. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command as Parser } from "commander";
import type { TlsOptions } from "#lib/http2/connect-http2.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { RevisionRecord, RevisionsOptions, SnapshotSummary, Store } from "#store/contract.ts";
import {
  openEmbeddedStore,
  readEmbeddedRevisions,
  restoreEmbeddedStore,
  snapshotEmbeddedStore,
} from "#store/embedded.ts";
import { openEtcdStore, restoreEtcdStore } from "#store/etcd.ts";
import { FlagError } from "../flags/parse-flags.ts";

const ALL_HISTORY = {
  ageMs: Number.POSITIVE_INFINITY,
  bytesMin: Number.POSITIVE_INFINITY,
  liveShare: 0,
};

export type StorePlace =
  /** `directory` is the cluster's data directory; the store is a folder in it. */
  | { readonly form: "embedded"; readonly directory: string }
  | { readonly form: "etcd"; readonly endpoints: readonly string[]; readonly tls?: TlsOptions };

export interface EtcdTlsFlags {
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

export function addEtcdTlsFlags(parser: Parser): Parser {
  return parser
    .option("--etcd-cafile <file>", "authority of etcd's certificates")
    .option("--etcd-certfile <file>", "certificate to show to etcd")
    .option("--etcd-keyfile <file>", "its key");
}

/** A data directory, or the addresses of etcd's members with commas between them. */
export function storePlaceOf(text: string, flags: EtcdTlsFlags): StorePlace {
  if (!/^https?:\/\//.test(text)) return { form: "embedded", directory: text };
  const endpoints = text.split(",").filter((part) => part !== "");
  const bad = endpoints.find((endpoint) => !URL.canParse(endpoint));
  if (bad !== undefined) throw new FlagError(`${JSON.stringify(bad)} is no address of an etcd`);
  if (!endpoints.some((endpoint) => endpoint.startsWith("https:"))) {
    return { form: "etcd", endpoints };
  }
  const { etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  const tls = {
    ...(etcdCafile === undefined ? {} : { ca: readFileSync(etcdCafile) }),
    ...(etcdCertfile === undefined ? {} : { cert: readFileSync(etcdCertfile) }),
    ...(etcdKeyfile === undefined ? {} : { key: readFileSync(etcdKeyfile) }),
  };
  return { form: "etcd", endpoints, tls };
}

export function describePlace(place: StorePlace): string {
  return place.form === "etcd" ? place.endpoints.join(",") : place.directory;
}

/** Opens a store exclusively, if it is a directory. Its history is not compacted here. */
export async function openPlace(place: StorePlace, clock: Clock): Promise<Store> {
  if (place.form === "etcd") return await openEtcdStore({ ...place, clock, historyMs: 0 });
  requireStore(place.directory);
  const directory = storeFolder(place.directory);
  return await openEmbeddedStore({ directory, clock, history: ALL_HISTORY });
}

/** Also while a cluster runs on it. */
export async function revisionsOfPlace(
  place: StorePlace,
  options: RevisionsOptions,
): Promise<readonly RevisionRecord[]> {
  if (place.form === "etcd")
    throw new FlagError("etcd does not store when a revision was committed");
  requireStore(place.directory);
  return await readEmbeddedRevisions(storeFolder(place.directory), options);
}

/** Also while a cluster runs on it. */
export async function snapshotPlace(
  place: StorePlace,
  path: string,
  clock: Clock,
  signal?: AbortSignal,
): Promise<SnapshotSummary> {
  if (place.form === "embedded") {
    requireStore(place.directory);
    return await snapshotEmbeddedStore(storeFolder(place.directory), path, clock, signal);
  }
  await using store = await openPlace(place, clock);
  return await store.snapshot(path, signal);
}

/** Into a place that holds nothing yet. */
export async function restorePlace(place: StorePlace, path: string, clock: Clock): Promise<void> {
  if (place.form === "embedded") {
    await restoreEmbeddedStore(path, storeFolder(place.directory));
    return;
  }
  await using store = await openPlace(place, clock);
  await restoreEtcdStore(path, store, clock);
}

function storeFolder(directory: string): string {
  return join(directory, "store");
}

function requireStore(directory: string): void {
  if (existsSync(join(storeFolder(directory), "data.mdb"))) return;
  throw new FlagError(`${directory} holds no store`);
}
