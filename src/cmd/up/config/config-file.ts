/**
 * The flags of `k8ts up` in files: `--config FILE`, and `config.yaml` in the data directory, where the
 * flags of the last start are remembered. The command line counts more than FILE, and FILE more than what
 * is remembered.
 */
import { join, resolve } from "node:path";
import type { Option } from "commander";
import { dump, load } from "js-yaml";
import { messageOf } from "#lib/caught.ts";
import { readPrivateFile, writePrivateFile } from "#pki/private-file.ts";
import { FlagError } from "../../flags/parse-flags.ts";
import { defaultDataDir } from "../default-data-dir.ts";
import { argumentsOf, type Settings, settingsFrom, settingsOf } from "./settings.ts";

/** Said once: they belong to one start, or have a memory of their own. */
const NOT_REMEMBERED: ReadonlySet<string> = new Set([
  ...["config", "data", "data-dir", "ephemeral", "foreground", "help", "install-service"],
  ...["new-cluster", "encrypt-secrets", "version"],
]);

/**
 * Two names of one setting, or two settings that exclude each other: a new value for one replaces the
 * remembered value of the other.
 */
const SAME: Readonly<Record<string, string>> = {
  ...{ port: "secure-port", "secure-port": "port" },
  ...{ node: "nodes", nodes: "node" },
};

export interface ConfiguredStart {
  /** All flags of this start, those of the files first. */
  readonly args: readonly string[];
  readonly dataDir: string;
  /** To be remembered once the cluster has started. */
  readonly settings: Settings;
}

export function configuredStart(
  args: readonly string[],
  options: readonly Option[],
): ConfiguredStart {
  const { settings: given, others } = settingsOf(args, options);
  const file = textOf(given.config);
  const fromFile = file === undefined ? {} : readSettings(file, true);
  const dataDir = resolve(textOf(given.data) ?? textOf(fromFile.data) ?? defaultDataDir());
  const rememberedFile = join(dataDir, "config.yaml");
  const isNew = given.ephemeral === true || fromFile.ephemeral === true;
  const remembered = isNew ? {} : readSettings(rememberedFile, false);
  const files = over(remembered, fromFile);
  const settings = over(files, given);
  const onlyInFiles = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !Object.hasOwn(given, name)),
  );
  return {
    args: [...argumentsOf(onlyInFiles, options, file ?? rememberedFile), ...givenArguments()],
    dataDir,
    settings,
  };

  /** As they were typed, so that the parser can name them; data and config are settled. */
  function givenArguments(): readonly string[] {
    const { config: _config, data: _data, ...rest } = given;
    return [`--data=${dataDir}`, ...argumentsOf(rest, options, "the command line"), ...others];
  }
}

/** Paths are kept so that they are right in any working directory. */
export function rememberSettings(
  { dataDir, settings }: Pick<ConfiguredStart, "dataDir" | "settings">,
  options: readonly Option[],
): void {
  const isPath = (name: string): boolean =>
    options.some(({ long, flags }) => long === `--${name}` && /<(file|dir|path)>/.test(flags));
  const kept = Object.entries(settings)
    .filter(([name]) => !NOT_REMEMBERED.has(name))
    .map(([name, value]) => [
      name,
      typeof value === "string" && value !== "" && isPath(name) ? resolve(value) : value,
    ]);
  const file = join(dataDir, "config.yaml");
  if (kept.length === 0 && readPrivateFile(file) === undefined) return;
  const text = `# Flags of \`k8ts up\`, remembered from the last start.\n${dump(Object.fromEntries(kept))}`;
  if (readPrivateFile(file) !== text) writePrivateFile(file, text);
}

function readSettings(file: string, mustExist: boolean): Settings {
  let content: unknown;
  try {
    const text = readPrivateFile(file);
    if (text === undefined && mustExist) throw new Error("there is no such file");
    content = text === undefined || text.trim() === "" ? undefined : load(text);
  } catch (error) {
    throw new FlagError(`${file}: ${messageOf(error)}`);
  }
  return settingsFrom(content, file);
}

function over(below: Settings, above: Settings): Settings {
  const kept = Object.entries(below).filter(([name]) => !Object.hasOwn(above, SAME[name] ?? ""));
  return { ...Object.fromEntries(kept), ...above };
}

function textOf(setting: unknown): string | undefined {
  const last = Array.isArray(setting) ? setting.at(-1) : setting;
  return typeof last === "string" && last !== "" ? last : undefined;
}
