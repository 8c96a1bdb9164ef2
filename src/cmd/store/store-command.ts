/** `k8ts store copy`: moves a cluster's data between a data directory and an etcd. */
import { Command as Parser } from "commander";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Command } from "../command.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { copyStore } from "./copy-store.ts";
import { addEtcdTlsFlags, describePlace, type EtcdTlsFlags, storePlaceOf } from "./store-place.ts";

interface CopyFlags extends EtcdTlsFlags {
  readonly from: string;
  readonly to: string;
}

export const storeCommand: Command = {
  name: "store",
  summary: "copy a cluster's store from a data directory to an etcd, or back",
  run: async (args, signal) => {
    try {
      const flags = readFlags(args);
      const [from, to] = [storePlaceOf(flags.from, flags), storePlaceOf(flags.to, flags)];
      const { keys, revision } = await copyStore(from, to, systemClock, signal);
      const [source, target] = [describePlace(from), describePlace(to)];
      process.stdout.write(`copied ${keys} keys of revision ${revision}: ${source} to ${target}\n`);
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

function readFlags(args: readonly string[]): CopyFlags {
  const quiet = (parser: Parser): Parser =>
    parser.exitOverride().configureOutput({ outputError: () => undefined });
  const parser = quiet(new Parser("k8ts store")).description(
    "Works on the store of a cluster that is not running.",
  );
  let read: CopyFlags | undefined;
  addEtcdTlsFlags(
    quiet(parser.command("copy"))
      .description("copy everything into an empty store; the source stays as it is")
      .requiredOption("--from <place>", "a data directory, or the addresses of an etcd")
      .requiredOption("--to <place>", "the same, for the copy"),
  ).action((flags: CopyFlags) => {
    read = flags;
  });
  parseArguments(parser, args);
  if (read === undefined) throw new FlagError("copy?");
  return read;
}
