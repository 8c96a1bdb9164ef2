/** The store that the flags name. */
import type { StoreOverride } from "#apiserver/storage/object-store.ts";
import { REGISTRY } from "#apiserver/storage/resources.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { type Store, StoreError } from "#store/contract.ts";
import type { EtcdOptions } from "#store/etcd.ts";
import { PrefixedStore } from "#store/prefixed-store.ts";
import { egressDialers } from "./egress.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { readPem } from "./keys.ts";
import { openOwnStore } from "./open-own-store.ts";

const ETCD_RETRY_MS = 1_000;

export interface StoreSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer?: Tracer | undefined;
  /** Where the members of etcd are known better than from --etcd-servers. */
  readonly onEtcdMembers?: EtcdOptions["onMembers"];
}

/** An etcd that does not answer yet is waited for. */
export async function openStore(
  flags: ApiServerFlags,
  surroundings: StoreSurroundings,
  signal: AbortSignal,
): Promise<Store> {
  const { clock, logger } = surroundings;
  if (!isShared(flags)) {
    return await openOwnStore(flags, { clock, logger });
  }
  return await openEtcd(flags, flags.etcdServers, surroundings, signal);
}

/** The stores that `--etcd-servers-overrides` names; resources with the same servers share one. */
export async function openOverrides(
  flags: ApiServerFlags,
  { clock, logger, tracer }: StoreSurroundings,
  signal: AbortSignal,
): Promise<readonly OpenedOverride[]> {
  const around = { clock, logger, tracer };
  const stores = new Map<string, Store>();
  const opened: OpenedOverride[] = [];
  for (const { group, plural, servers } of flags.etcdServersOverrides) {
    const place = servers.join(";");
    const store = stores.get(place) ?? (await openEtcd(flags, servers, around, signal));
    stores.set(place, store);
    opened.push({ group, plural, store });
  }
  return opened;
}

export type OpenedOverride = Pick<StoreOverride, "group" | "plural" | "store">;

async function openEtcd(
  flags: ApiServerFlags,
  servers: readonly string[],
  surroundings: StoreSurroundings,
  signal: AbortSignal,
): Promise<Store> {
  const { clock, logger } = surroundings;
  for (;;) {
    try {
      return await connectEtcd(flags, servers, surroundings);
    } catch (error) {
      if (!(error instanceof StoreError) || error.problem.code !== "Unavailable") throw error;
      logger.warn("etcd does not answer", { servers, why: error.message });
      await clock.sleep(ETCD_RETRY_MS, signal);
    }
  }
}

/** Others may have the store, too. */
export function isShared({ etcdServers }: ApiServerFlags): boolean {
  return etcdServers.length > 0;
}

async function connectEtcd(
  flags: ApiServerFlags,
  servers: readonly string[],
  { clock, logger, tracer, onEtcdMembers }: StoreSurroundings,
): Promise<Store> {
  const { openEtcdStore } = await import("#store/etcd.ts");
  const pem = (file: string | undefined) => (file === undefined ? undefined : readPem(file));
  const [ca, cert, key] = [flags.etcdCafile, flags.etcdCertfile, flags.etcdKeyfile].map(pem);
  const tls = {
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
    ...(cert === undefined ? {} : { cert: Buffer.from(cert) }),
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
  };
  const secure = servers.some((url) => url.startsWith("https:"));
  const store = await openEtcdStore({
    endpoints: servers,
    clock,
    logger,
    tracer,
    historyMs: flags.etcdCompactionInterval * 1000,
    ...(secure ? { tls } : {}),
    dial: egressDialers(flags.egressSelectorConfigFile).etcd,
    ...(onEtcdMembers === undefined ? {} : { onMembers: onEtcdMembers }),
  });
  const stored = `${flags.etcdPrefix}/`;
  return stored === REGISTRY ? store : new PrefixedStore(store, { seen: REGISTRY, stored });
}
