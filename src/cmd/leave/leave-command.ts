/**
 * `k8ts leave`: takes this machine out of the control plane of its cluster and removes the cluster's data
 * from it. The etcd member goes first, while the machine still runs: leadership is handed over, the other
 * members go on without it, and the API server of this machine uses theirs. Then the Node is deleted, the
 * machine's part of the cluster ends (its API server withdraws from the endpoints of `kubernetes`), and the
 * data directory is removed.
 */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { EtcdAdmin } from "#etcd/etcd-admin.ts";
import { etcdClientTls } from "#etcd/etcd-certificates.ts";
import { readMemberRecord } from "#etcd/member-record.ts";
import { messageOf } from "#lib/caught.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { removeMember } from "../etcd/etcd-members.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { configuredStart } from "../up/config/config-file.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { downCommand } from "../up/down.ts";
import { runningProcess } from "../up/pid-file.ts";
import { parseUpFlags, upOptions } from "../up/up-flags.ts";

interface LeaveFlags {
  readonly data: string;
  readonly force?: boolean;
}

/** How long the API server of this machine may take to use the other members of etcd. */
const NODE_WITHIN_MS = 20_000;
/** With --force the cluster may be gone for good. */
const FORCED_NODE_WITHIN_MS = 3_000;
const AGAIN_MS = 250;

export const leaveCommand: Command = {
  name: "leave",
  summary: "take this machine out of the control plane of its cluster",
  flags: () => leaveParser().options,
  run: async (args, signal) => {
    try {
      const { data, force } = parseArguments(leaveParser(), args).opts<LeaveFlags>();
      const dataDir = resolve(data);
      if (!existsSync(join(dataDir, "pki"))) {
        throw new FlagError(`${dataDir} is no part of a control plane`);
      }
      refuseEmbedded(dataDir);
      await unlessForced(force, () => leaveEtcd(dataDir, signal));
      const nodeWithinMs = force === true ? FORCED_NODE_WITHIN_MS : NODE_WITHIN_MS;
      await unlessForced(force, () => deleteNode(dataDir, nodeWithinMs, signal));
      return await downCommand.run([`--data=${dataDir}`, "--purge"], signal);
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

function leaveParser(): Parser {
  return new Parser("k8ts leave")
    .description(
      "Takes this machine out of the control plane of its cluster, and removes the cluster's data from it.",
    )
    .option("--data <dir>", "its data directory", defaultDataDir())
    .option("--force", "clean up here even if the cluster cannot be reached")
    .addHelpText("after", "\nExamples:\n  k8ts leave\n  k8ts leave --data ./cluster --force");
}

/** A cluster with an embedded store has no other member that could continue. */
function refuseEmbedded(dataDir: string): void {
  const { args } = configuredStart([`--data=${dataDir}`], upOptions());
  if (parseUpFlags(args).server.etcdServers.length > 0) return;
  throw new FlagError(
    `the cluster on ${dataDir} is on this machine alone: \`k8ts down --purge\` removes it`,
  );
}

async function unlessForced(force: boolean | undefined, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (force !== true) throw new FlagError(`${messageOf(error)} (--force cleans up here anyway)`);
    process.stderr.write(`k8ts leave: ${messageOf(error)}\n`);
  }
}

async function leaveEtcd(dataDir: string, signal: AbortSignal): Promise<void> {
  const record = readMemberRecord(dataDir);
  if (record === undefined) return; // etcd is not ours
  const [own, ...others] = record.endpoints;
  const endpoints = others.length > 0 ? others : [own ?? ""];
  const tls = etcdClientTls(join(dataDir, "pki"));
  using admin = new EtcdAdmin({ endpoints, tls, clock: systemClock });
  process.stdout.write(`etcd: ${await removeMember(admin, record.name, signal)}`);
}

async function deleteNode(dataDir: string, withinMs: number, signal: AbortSignal): Promise<void> {
  if (runningProcess(dataDir) === undefined) return;
  const { clock, random } = processSurroundings({ logLevel: "info", logFormat: "text" });
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  using transport = new HttpsTransport(connectionOf(kubeconfig, ""), "k8ts-leave");
  const client = new Client({ transport, clock, random, fieldManager: "k8ts-leave" });
  const name = hostname().toLowerCase();
  const endMs = clock.elapsedMs() + withinMs;
  for (;;) {
    const deleted = await client.delete(nodeKind, { name }, {}, signal);
    if (deleted.ok) process.stdout.write(`node ${name} deleted\n`);
    if (deleted.ok || deleted.status.reason === "NotFound") return;
    if (clock.elapsedMs() > endMs) throw new Error(`node ${name}: ${deleted.status.message}`);
    await clock.sleep(AGAIN_MS, signal);
  }
}
