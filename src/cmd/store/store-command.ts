/**
 * `k8ts store copy`: moves a cluster's data between a data directory and an etcd.
 * `k8ts store revisions`: the revisions that a data directory keeps, with the time of each commit.
 */
import { Command as Parser } from "commander";
import { systemClock } from "#lib/time/system-clock.ts";
import type { RevisionRecord } from "#store/contract.ts";
import type { Command } from "../command.ts";
import { integer } from "../flags/flag-values.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { copyStore } from "./copy-store.ts";
import {
  addEtcdTlsFlags,
  describePlace,
  type EtcdTlsFlags,
  revisionsOfPlace,
  storePlaceOf,
} from "./store-place.ts";

interface CopyFlags extends EtcdTlsFlags {
  readonly from: string;
  readonly to: string;
}

interface RevisionsFlags {
  readonly data: string;
  readonly from: number;
  readonly limit: number;
}

type Task =
  | { readonly name: "copy"; readonly flags: CopyFlags }
  | { readonly name: "revisions"; readonly flags: RevisionsFlags };

export const storeCommand: Command = {
  name: "store",
  summary: "copy a cluster's store from a data directory to an etcd, or back; list its revisions",
  run: async (args, signal) => {
    try {
      const { name, flags } = readTask(args);
      process.stdout.write(name === "copy" ? await copy(flags, signal) : await list(flags));
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

async function copy(flags: CopyFlags, signal: AbortSignal): Promise<string> {
  const [from, to] = [storePlaceOf(flags.from, flags), storePlaceOf(flags.to, flags)];
  const { keys, revision } = await copyStore(from, to, systemClock, signal);
  const [source, target] = [describePlace(from), describePlace(to)];
  return `copied ${keys} keys of revision ${revision}: ${source} to ${target}\n`;
}

async function list({ data, from, limit }: RevisionsFlags): Promise<string> {
  const place = storePlaceOf(data, {});
  const records = await revisionsOfPlace(place, { fromRevision: from, limit });
  return ["REVISION\tCOMMITTED\tKEYS", ...records.map(lineOf)].map((line) => `${line}\n`).join("");
}

function lineOf({ revision, committedAtMs, keys }: RevisionRecord): string {
  const committed = committedAtMs === 0 ? "unknown" : new Date(committedAtMs).toISOString();
  return `${revision}\t${committed}\t${keys.join(",")}`;
}

const EXAMPLES = `
Examples:
  k8ts store copy --from ~/.k8ts --to https://10.0.0.1:2379
  k8ts store revisions --from 500 --limit 20`;

function readTask(args: readonly string[]): Task {
  const quiet = (parser: Parser): Parser =>
    parser.exitOverride().configureOutput({ outputError: () => undefined });
  const parser = quiet(new Parser("k8ts store"))
    .description("Moves a cluster to another store, and shows what its store keeps.")
    .addHelpText("after", EXAMPLES);
  let task: Task | undefined;
  addEtcdTlsFlags(
    quiet(parser.command("copy"))
      .description(
        "copy everything into an empty store; the source, whose cluster may not run, stays as it is",
      )
      .requiredOption("--from <place>", "a data directory, or the addresses of an etcd")
      .requiredOption("--to <place>", "the same, for the copy"),
  ).action((flags: CopyFlags) => {
    task = { name: "copy", flags };
  });
  quiet(parser.command("revisions"))
    .description("list revisions that are kept (see --history of k8ts up), oldest first")
    .option("--data <dir>", "data directory, also of a cluster that runs", defaultDataDir())
    .option("--from <revision>", "the first one", integer, 1)
    .option("--limit <count>", "how many, 1000 at most", integer, 100)
    .action((flags: RevisionsFlags) => {
      task = { name: "revisions", flags };
    });
  parseArguments(parser, args);
  if (task === undefined) throw new FlagError("copy or revisions?");
  return task;
}
