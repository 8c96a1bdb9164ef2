/** Follows the members of the cluster that a managed member is part of, and keeps its record up to date. */
import { join } from "node:path";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Member } from "./admin-rpc.ts";
import { EtcdAdmin } from "./etcd-admin.ts";
import { urlOf } from "./etcd-arguments.ts";
import { etcdClientTls } from "./etcd-certificates.ts";
import { readMemberRecord, writeMemberRecord } from "./member-record.ts";

export interface FollowerOptions {
  readonly dataDir: string;
  readonly name: string;
  readonly address: string;
  readonly clientPort: number;
  readonly clock: Clock;
  readonly logger: Logger;
  renewCertificates(): void;
}

/** Members come and go by hand: half a minute is soon enough to know of them. */
const FOLLOW_EVERY_MS = 30_000;
const RENEWAL_EVERY_MS = 24 * 3_600_000;

/** Own address first; members that have not started have none. */
export function clientUrlsOf(members: readonly Member[], own: string): readonly string[] {
  const voters = members.filter(({ isLearner }) => !isLearner);
  return [...new Set([own, ...voters.flatMap(({ clientUrls }) => clientUrls.slice(0, 1))])];
}

export class MemberFollower {
  readonly #options: FollowerOptions;
  readonly #own: string;
  readonly #listeners = new Set<(endpoints: readonly string[]) => void>();
  #endpoints: readonly string[];

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#own = urlOf(options.address, options.clientPort);
    this.#endpoints = readMemberRecord(options.dataDir)?.endpoints ?? [this.#own];
  }

  get endpoints(): readonly string[] {
    return this.#endpoints;
  }

  subscribe(use: (endpoints: readonly string[]) => void, signal: AbortSignal): void {
    this.#listeners.add(use);
    signal.addEventListener("abort", () => this.#listeners.delete(use), { once: true });
    use(this.#endpoints);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    let renewedMs = clock.elapsedMs();
    while (!signal.aborted) {
      await clock.sleep(FOLLOW_EVERY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.look(signal).catch((error: unknown) =>
        logger.debug("etcd does not say who its members are", { error }),
      );
      if (clock.elapsedMs() - renewedMs < RENEWAL_EVERY_MS) continue;
      renewedMs = clock.elapsedMs();
      this.#options.renewCertificates();
    }
  }

  async look(signal: AbortSignal): Promise<void> {
    const { dataDir, name, clock } = this.#options;
    const tls = etcdClientTls(join(dataDir, "pki"));
    using admin = new EtcdAdmin({ endpoints: this.#endpoints, tls, clock });
    const next = clientUrlsOf(await admin.members(signal), this.#own);
    if (next.join() === this.#endpoints.join()) return;
    this.#endpoints = next;
    writeMemberRecord(dataDir, { name, endpoints: next, state: "member" });
    for (const use of this.#listeners) use(next);
  }
}
