/**
 * An etcd member that k8ts starts and supervises on this machine.
 *
 * Promises:
 * 1. `startMember` returns when the member answers, has a leader and a vote.
 * 2. The first member begins a new cluster. One that joins is added as a learner, which has no vote, and
 *    gets its vote when it has caught up: the cluster can write all the time.
 * 3. A member whose data is gone does not begin another cluster: it says what to do.
 * 4. When etcd ends, it is started again with a back-off until the signal aborts; then it gets SIGTERM.
 *    An etcd of this data directory whose k8ts was killed is ended first. If `startMember` fails, etcd and
 *    its supervision have ended.
 * 5. `endpoints` follows the members of the cluster.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { killProcesses, listProcesses } from "#host/processes.ts";
import { type ChildProgram, startProgram } from "#host/start-program.ts";
import { superviseProgram } from "#host/supervise-program.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Member } from "./admin-rpc.ts";
import { EtcdAdmin } from "./etcd-admin.ts";
import { type EtcdMemberPlan, etcdArguments, urlOf } from "./etcd-arguments.ts";
import { ensureEtcdCertificates, etcdClientTls } from "./etcd-certificates.ts";
import { clientUrlsOf, MemberFollower } from "./member-follower.ts";
import {
  type MemberRecord,
  memberDataDir,
  readMemberRecord,
  writeMemberRecord,
} from "./member-record.ts";

export interface MemberOptions {
  /** Of the cluster: the member's data and the record are in it. */
  readonly dataDir: string;
  readonly name: string;
  /** Where clients and other members reach it. */
  readonly address: string;
  readonly clientPort: number;
  readonly peerPort: number;
  /** More names of its certificates. */
  readonly names: readonly string[];
  readonly extra: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RunningMember {
  /** Client addresses of all members, this one's first. */
  endpoints(): readonly string[];
  onMembers(use: (endpoints: readonly string[]) => void, signal: AbortSignal): void;
  /** The state of this member, for people. */
  health(): Promise<{ readonly well: boolean; readonly message: string }>;
  /** Ends after the signal aborted and etcd is gone. */
  readonly ended: Promise<void>;
}

const ASK_AGAIN_MS = 50;
const KILL_TIMEOUT_MS = 5_000;
const GRACE_MS = 20_000;

export async function startMember(
  options: MemberOptions,
  signal: AbortSignal,
): Promise<RunningMember> {
  const { dataDir, clock, logger } = options;
  const renewCertificates = (): void =>
    ensureEtcdCertificates({
      ...{ directory: join(dataDir, "pki"), clock, logger },
      names: [options.name, options.address, ...options.names],
    });
  renewCertificates();
  await endLeftEtcd(memberDataDir(dataDir), clock, signal);
  const args = etcdArguments(await planOf(options, signal));
  let child: ChildProgram;
  const start = (): ChildProgram => {
    const onLine = (line: string): void => logger.debug("etcd", { line });
    child = startProgram("etcd", args, { onLine });
    return child;
  };
  child = start();
  const local = urlOf("127.0.0.1", options.clientPort);
  const tls = etcdClientTls(join(dataDir, "pki"));
  const failed = new AbortController();
  const ended = superviseProgram(
    child,
    start,
    { ...options, name: "etcd", graceMs: GRACE_MS },
    AbortSignal.any([signal, failed.signal]),
  );
  try {
    await untilVoting(options, () => child, signal);
  } catch (error) {
    failed.abort();
    await ended;
    throw error;
  }
  const members = new MemberFollower({ ...options, renewCertificates });
  await members.look(signal).catch(() => undefined);
  void members.run(signal);
  return {
    endpoints: () => members.endpoints,
    onMembers: (use, until) => members.subscribe(use, until),
    health: async () => {
      using admin = new EtcdAdmin({ endpoints: [local], tls, clock });
      try {
        const { leader, errors } = await admin.status(local);
        if (leader === 0n) return { well: false, message: "etcd has no leader" };
        return { well: errors.length === 0, message: errors[0] ?? "ok" };
      } catch (error) {
        return { well: false, message: messageOf(error) };
      }
    },
    ended,
  };
}

/** How this member is to be started. Adds it to the cluster that it joins. */
async function planOf(options: MemberOptions, signal: AbortSignal): Promise<EtcdMemberPlan> {
  const { dataDir, name, address, clientPort, peerPort, extra, clock } = options;
  const own = { name, peerUrl: urlOf(address, peerPort) };
  const plan: EtcdMemberPlan = {
    ...{ name, dataDir: memberDataDir(dataDir), pki: join(dataDir, "pki"), address },
    ...{ clientPort, peerPort, extra, initialCluster: [own], initialState: "new" },
  };
  const record = readMemberRecord(dataDir);
  if (existsSync(join(memberDataDir(dataDir), "member"))) return plan; // etcd knows its cluster
  const others = record?.endpoints.filter((url) => url !== urlOf(address, clientPort)) ?? [];
  if (record === undefined || (record.state !== "joining" && others.length === 0)) {
    writeMemberRecord(dataDir, { name, endpoints: [urlOf(address, clientPort)], state: "new" });
    return plan;
  }
  using admin = new EtcdAdmin({
    endpoints: others,
    tls: etcdClientTls(join(dataDir, "pki")),
    clock,
  });
  const members = await membersWith(admin, own, record, signal);
  const cluster = members
    .filter((one) => one.name !== "" || one.peerUrls.includes(own.peerUrl))
    .map((one) => ({ name: one.name || name, peerUrl: one.peerUrls[0] ?? "" }));
  return { ...plan, initialCluster: cluster, initialState: "existing" };
}

/** The members of the cluster, with this one among them. */
async function membersWith(
  admin: EtcdAdmin,
  own: { readonly name: string; readonly peerUrl: string },
  record: MemberRecord,
  signal: AbortSignal,
): Promise<readonly Member[]> {
  const members = await admin.members(signal);
  const entry = members.find(({ peerUrls }) => peerUrls.includes(own.peerUrl));
  if (entry === undefined) {
    if (record.state === "member") {
      throw new Error(
        `the etcd member ${own.name} was removed from its cluster: \`k8ts join --control-plane\` makes this machine a part of it again`,
      );
    }
    const namesake = members.find((one) => one.name === own.name);
    if (namesake !== undefined) {
      throw new Error(`there is an etcd member ${own.name} already, at ${namesake.peerUrls[0]}`);
    }
    return await admin.addLearner(own.peerUrl, signal);
  }
  if (entry.name === "") return members; // added, and never started
  throw new Error(
    `the data of the etcd member ${entry.name} is gone: run \`k8ts etcd member replace ${entry.name}\` on another machine of the control plane, then start this one again`,
  );
}

/** Waits until etcd answers, has a leader and, if it was a learner, its vote. */
async function untilVoting(
  options: MemberOptions,
  current: () => ChildProgram,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir, name, address, clientPort, peerPort, clock, logger } = options;
  const local = urlOf("127.0.0.1", clientPort);
  const tls = etcdClientTls(join(dataDir, "pki"));
  const first = current();
  for (;;) {
    using admin = new EtcdAdmin({ endpoints: [local], tls, clock });
    const status = await admin.status(local, signal).catch(() => undefined);
    if (status !== undefined && status.leader !== 0n) {
      const id = status.header?.memberId ?? 0n;
      // A learner does not answer for its cluster: ask the others first.
      const known = readMemberRecord(dataDir)?.endpoints ?? [];
      using cluster = new EtcdAdmin({ endpoints: [...known, local], tls, clock });
      if (status.isLearner) {
        logger.info("the etcd member catches up with its cluster", { name });
        await cluster.promote(id, signal);
      }
      const members = await cluster.members(signal);
      const own = members.find((one) => one.id === id);
      const peerUrl = urlOf(address, peerPort);
      if (own !== undefined && !own.peerUrls.includes(peerUrl)) {
        await cluster.setPeerUrl(id, peerUrl, signal);
      }
      const endpoints = clientUrlsOf(members, urlOf(address, clientPort));
      writeMemberRecord(dataDir, { name, endpoints, state: "member" });
      return;
    }
    if (first.exited) throw startFailure(name, (await first.ended).lastLines);
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}

function startFailure(name: string, lines: readonly string[]): Error {
  const text = lines.join("\n");
  if (/permanently removed/.test(text)) {
    return new Error(
      `the etcd member ${name} was removed from its cluster: \`k8ts leave\` cleans up here, \`k8ts join --control-plane\` makes this machine a part of the cluster again`,
    );
  }
  return new Error(`etcd did not start: ${text}`);
}

/** An etcd whose k8ts was killed: two cannot work on one folder. */
async function endLeftEtcd(folder: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const left = (await listProcesses()).filter(({ words }) =>
    words.includes(`--data-dir=${folder}`),
  );
  await killProcesses(left, KILL_TIMEOUT_MS, clock, signal);
}
