/** `k8ts etcd`: the etcd of a cluster, managed by k8ts or not: members, state, snapshots, defragmentation. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { defragmentMembers } from "#etcd/defragment-members.ts";
import { type EtcdAccess, EtcdAdmin } from "#etcd/etcd-admin.ts";
import { etcdClientTls } from "#etcd/etcd-certificates.ts";
import { readMemberRecord } from "#etcd/member-record.ts";
import { saveEtcdSnapshot } from "#etcd/save-snapshot.ts";
import { GrpcError } from "#lib/grpc/grpc-status.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { addOutputFlag } from "../flags/output-flag.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { addEtcdTlsFlags, type EtcdTlsFlags, storePlaceOf } from "../store/store-place.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { addMember, membersText, removeMember, replaceMember } from "./etcd-members.ts";
import { statusText } from "./etcd-status.ts";
import { restoreEtcdSnapshot } from "./restore-snapshot.ts";

type Task = (signal: AbortSignal) => Promise<string>;

interface PlaceFlags extends EtcdTlsFlags {
  readonly data: string;
  readonly etcdServers?: string;
  readonly output?: string;
}

export const etcdCommand: Command = {
  name: "etcd",
  summary: "members, state, snapshots and defragmentation of the cluster's etcd",
  run: async (args, signal) => {
    try {
      process.stdout.write(await taskOf(args)(signal));
      return 0;
    } catch (error) {
      if (error instanceof GrpcError) return refuseFlags(new FlagError(error.message));
      return refuseFlags(error);
    }
  },
};

const EXAMPLES = `
Examples:
  k8ts etcd status
  k8ts etcd member list --output json
  k8ts etcd snapshot save etcd.snapshot`;

function taskOf(args: readonly string[]): Task {
  const parser = quiet(new Parser("k8ts etcd"))
    .description(
      "The etcd of a cluster: that of `k8ts up --etcd managed` on this machine, or that of --etcd-servers.",
    )
    .addHelpText("after", EXAMPLES);
  let task: Task | undefined;
  const action = (
    under: Parser,
    name: string,
    what: string,
    run: (
      admin: EtcdAdmin,
      flags: PlaceFlags,
      operand: string,
      signal: AbortSignal,
    ) => Promise<string>,
  ): Parser =>
    addPlaceFlags(quiet(under.command(name)).description(what)).action((...given: unknown[]) => {
      const [operand, flags] = operandAndFlags(given);
      task = async (signal) => {
        using admin = new EtcdAdmin(accessOf(flags));
        return await run(admin, flags, operand, signal);
      };
    });
  addOutputFlag(
    action(
      parser,
      "status",
      "versions, sizes, leader, alarms of every member",
      (admin, flags, _, signal) => statusText(admin, flags.output === "json", signal),
    ),
  );
  action(parser, "defrag", "give free space back to the disks, member by member", defragment);
  const member = quiet(parser.command("member")).description("Members of the cluster.");
  addOutputFlag(
    action(member, "list", "list the members", (admin, flags, _, signal) =>
      membersText(admin, flags.output === "json", signal),
    ),
  );
  action(
    member,
    "add <peer-url>",
    "add a member as a learner, without a vote",
    (admin, _, url, signal) => addMember(admin, url, signal),
  );
  action(member, "remove <name>", "remove a member, by its name or ID", (admin, _, name, signal) =>
    removeMember(admin, name, signal),
  );
  action(
    member,
    "replace <name>",
    "let a member whose data is lost begin anew as a learner",
    (admin, _, name, signal) => replaceMember(admin, name, signal),
  );
  const snapshot = quiet(parser.command("snapshot")).description("etcd's own snapshots.");
  action(snapshot, "save <file>", "save the data of a member, with its revisions", save);
  quiet(snapshot.command("restore <file>"))
    .description("make a snapshot the data of this machine's managed member, the only one")
    .option("--data <dir>", "the cluster's data directory", defaultDataDir())
    .action((file: string, { data }: { readonly data: string }) => {
      task = (signal) => restoreEtcdSnapshot(file, resolve(data), signal);
    });
  parseArguments(parser, args);
  if (task === undefined) throw new FlagError("status, member, snapshot or defrag?");
  return task;
}

/** Commander gives the operands, then the flags, then the command. */
function operandAndFlags(given: readonly unknown[]): readonly [string, PlaceFlags] {
  const flags = given.at(-2) as PlaceFlags;
  return [typeof given[0] === "string" ? given[0] : "", flags];
}

function quiet(parser: Parser): Parser {
  return parser.exitOverride().configureOutput({ outputError: () => undefined });
}

function addPlaceFlags(parser: Parser): Parser {
  return addEtcdTlsFlags(
    parser
      .option("--data <dir>", "the cluster's data directory", defaultDataDir())
      .option("--etcd-servers <urls>", "another etcd than the managed one"),
  );
}

function accessOf(flags: PlaceFlags): EtcdAccess {
  const clock = systemClock;
  if (flags.etcdServers !== undefined) {
    const place = storePlaceOf(flags.etcdServers, flags);
    if (place.form !== "etcd") throw new FlagError("--etcd-servers: https://HOST:2379,…");
    const { endpoints, tls } = place;
    return { endpoints, clock, ...(tls === undefined ? {} : { tls }) };
  }
  const dataDir = resolve(flags.data);
  const record = readMemberRecord(dataDir);
  if (record === undefined) {
    throw new FlagError(
      `${dataDir} has no managed etcd (\`k8ts up --etcd managed\`): name another one with --etcd-servers`,
    );
  }
  return { endpoints: record.endpoints, tls: etcdClientTls(join(dataDir, "pki")), clock };
}

async function save(
  admin: EtcdAdmin,
  flags: PlaceFlags,
  file: string,
  signal: AbortSignal,
): Promise<string> {
  if (existsSync(file)) throw new FlagError(`${file} is there already: it is not overwritten`);
  const endpoint = accessOf(flags).endpoints[0] ?? "";
  const { header } = await admin.status(endpoint, signal);
  const bytes = await saveEtcdSnapshot(admin, endpoint, file, signal);
  return `saved ${file}: ${bytes} bytes, revision ${header?.revision ?? 0} or later, from ${endpoint}\n`;
}

async function defragment(
  admin: EtcdAdmin,
  _flags: PlaceFlags,
  _operand: string,
  signal: AbortSignal,
): Promise<string> {
  let text = "";
  await defragmentMembers(
    admin,
    systemClock,
    ({ name, bytesBefore, bytesAfter, tookMs }) => {
      text += `${name}: ${bytesBefore} → ${bytesAfter} bytes in ${Math.round(tookMs)} ms\n`;
    },
    signal,
  );
  return text;
}
