/** `k8ts snapshot`: saves, restores, verifies and lists snapshots of a cluster's store. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command as Parser } from "commander";
import { systemClock } from "#lib/time/system-clock.ts";
import { verifySnapshot } from "#store/snapshot.ts";
import type { Command } from "../command.ts";
import { integer, seconds } from "../flags/flag-values.ts";
import { addOutputFlag } from "../flags/output-flag.ts";
import { badValue, FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import {
  addEtcdTlsFlags,
  describePlace,
  type EtcdTlsFlags,
  restorePlace,
  type StorePlace,
  snapshotPlace,
  storePlaceOf,
} from "../store/store-place.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { describeSummary, saveIntoFolder } from "./save.ts";
import { type ListedSnapshot, listSnapshots } from "./snapshot-files.ts";

type Task = (signal: AbortSignal) => Promise<number>;

export const snapshotCommand: Command = {
  name: "snapshot",
  summary: "save, restore, verify and list snapshots of a cluster's store",
  run: async (args, signal) => {
    try {
      return await taskOf(args)(signal);
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

interface PlaceFlags extends EtcdTlsFlags {
  readonly data: string;
  readonly etcdServers?: string;
}

interface SaveFlags extends PlaceFlags {
  readonly dir?: string;
  readonly every?: number;
  readonly keep?: number;
}

const EXAMPLES = `
Examples:
  k8ts snapshot save before-upgrade.snapshot
  k8ts snapshot save --every 1h --keep 24
  k8ts snapshot restore before-upgrade.snapshot`;

function taskOf(args: readonly string[]): Task {
  const parser = quiet(new Parser("k8ts snapshot"))
    .description("Snapshots of a cluster's store. A cluster may run on it while one is saved.")
    .addHelpText("after", EXAMPLES);
  let task: Task | undefined;
  const action = (name: string, what: string): Parser =>
    quiet(parser.command(name)).description(what);
  addPlaceFlags(action("save [file]", "save one into a file, or under a name of its own"))
    .option("--dir <dir>", "where to keep it; DATA/snapshots unless given")
    .option("--every <duration>", "go on, and save one this often", positiveSeconds)
    .option("--keep <count>", "remove the oldest in the folder beyond so many", positive)
    .action((file: string | undefined, flags: SaveFlags) => {
      task = saveTask(file, flags);
    });
  addPlaceFlags(
    action("restore <file>", "fill an empty store with a snapshot, after verifying it"),
  ).action((file: string, flags: PlaceFlags) => {
    task = () => restore(file, placeOf(flags));
  });
  action("verify <file>", "prove that a file is what was saved").action((file: string) => {
    task = async () => say(`sound: ${describeSummary(file, await verifySnapshot(file))}`);
  });
  addOutputFlag(action("ls", "list the snapshots of a folder, oldest first"))
    .option("--data <dir>", "the cluster's data directory", defaultDataDir())
    .option("--dir <dir>", "the folder; DATA/snapshots unless given")
    .action((flags: ListFlags) => {
      task = () => ls(flags.dir ?? snapshotsOf(flags.data), flags.output === "json");
    });
  parseArguments(parser, args);
  if (task === undefined) throw new FlagError("save, restore, verify or ls?");
  return task;
}

function quiet(parser: Parser): Parser {
  return parser.exitOverride().configureOutput({ outputError: () => undefined });
}

function addPlaceFlags(parser: Parser): Parser {
  return addEtcdTlsFlags(
    parser
      .option("--data <dir>", "the cluster's data directory", defaultDataDir())
      .option("--etcd-servers <urls>", "the etcd that the cluster uses, if it does"),
  );
}

function placeOf(flags: PlaceFlags): StorePlace {
  return storePlaceOf(flags.etcdServers ?? flags.data, flags);
}

function saveTask(file: string | undefined, flags: SaveFlags): Task {
  const { every, keep, dir } = flags;
  const place = placeOf(flags);
  if (file === undefined) {
    return async (signal) => {
      const options = {
        folder: dir ?? snapshotsOf(flags.data),
        keep,
        everyMs: every === undefined ? undefined : every * 1000,
        clock: systemClock,
        save: (path: string, until: AbortSignal) => snapshotPlace(place, path, systemClock, until),
        say,
        complain,
      };
      await saveIntoFolder(options, signal);
      return 0;
    };
  }
  if (every !== undefined || keep !== undefined || dir !== undefined) {
    throw new FlagError("--dir, --every and --keep are for snapshots without a file name");
  }
  if (existsSync(file)) throw new FlagError(`${file} is there already: it is not overwritten`);
  return async (signal) =>
    say(describeSummary(file, await snapshotPlace(place, file, systemClock, signal)));
}

async function restore(file: string, place: StorePlace): Promise<number> {
  await restorePlace(place, file, systemClock);
  say(`restored ${file} into ${describePlace(place)}`);
  if (place.form === "embedded" && !existsSync(join(place.directory, "pki"))) {
    say(
      `${place.directory} has no pki folder: unless the old one is put there before the start, ` +
        "the cluster gets new keys, and tokens and kubeconfigs of the old one are refused",
    );
  }
  return 0;
}

interface ListFlags {
  readonly data: string;
  readonly dir?: string;
  readonly output: string;
}

async function ls(folder: string, asJson: boolean): Promise<number> {
  const snapshots = existsSync(folder) ? await listSnapshots(folder) : [];
  if (asJson) return say(JSON.stringify(snapshots.map(listedAsJson), undefined, 2));
  if (!existsSync(folder)) return 0;
  const rows = snapshots.map(describeListed);
  const widths = HEAD.map((_, column) =>
    Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  for (const row of [HEAD, ...rows]) {
    say(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("   ")
        .trimEnd(),
    );
  }
  return 0;
}

const HEAD = ["FILE", "SAVED", "REVISION", "KEYS", "BYTES"];

function describeListed(listed: ListedSnapshot): string[] {
  const described = listedAsJson(listed);
  return Object.values(described).map(String);
}

/** In the order of the columns; of a file that is no snapshot its fault. */
function listedAsJson(listed: ListedSnapshot): Readonly<Record<string, string | number>> {
  if ("fault" in listed) return { file: listed.file, fault: listed.fault };
  const { writtenAtMs, revision, keys, bytes } = listed.label;
  const saved = new Date(writtenAtMs).toISOString().replace(/\.\d+/, "");
  return { file: listed.file, saved, revision, keys, bytes };
}

function snapshotsOf(data: string): string {
  return join(data, "snapshots");
}

function positive(value: string): number {
  const count = integer(value);
  if (count < 1) throw badValue("must be at least 1");
  return count;
}

function positiveSeconds(value: string): number {
  const length = seconds(value);
  if (length < 1) throw badValue("must be at least 1s");
  return length;
}

function say(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function complain(text: string): void {
  process.stderr.write(`k8ts snapshot: ${text}\n`);
}
