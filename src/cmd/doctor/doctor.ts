/** `k8ts doctor`: says whether the store of a data directory is sound. It changes nothing. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command as Parser } from "commander";
import type { Command } from "#cmd/command.ts";
import { parseFlags } from "#cmd/flags/parse-flags.ts";
import { defaultDataDir } from "#cmd/up/default-data-dir.ts";
import { StoreError } from "#store/contract.ts";
import { checkDataFile } from "#store/embedded/check-file.ts";

const DAMAGES_MAX = 100;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "check the data of a cluster",
  run: async (args) => {
    const parser = new Parser("k8ts doctor")
      .description("Says whether the store of a data directory is sound. Changes nothing.")
      .option("--data <dir>", "the data directory", defaultDataDir())
      .addHelpText("after", "\nExamples:\n  k8ts doctor\n  k8ts doctor --data ./cluster");
    const parsed = parseFlags(parser, args, (flags) => String(flags.data));
    if ("exitCode" in parsed) return parsed.exitCode;
    const dataDir = parsed.config;
    if (!existsSync(dataDir)) return refuse(`there is no ${dataDir}`);
    try {
      checkDataFile(join(dataDir, "store", "data.mdb"), {
        mustExist: true,
        damagesMax: DAMAGES_MAX,
      });
    } catch (error) {
      if (error instanceof StoreError) return refuse(error.message.replaceAll("; ", "\n  "));
      throw error;
    }
    process.stdout.write(`the store in ${dataDir} is sound\n`);
    return 0;
  },
};

function refuse(why: string): number {
  process.stderr.write(`k8ts doctor: ${why}\n`);
  return 1;
}
