/** How volumes are recycled: flags for each sort of volume, and files with pods to do it with. */
import { readFileSync } from "node:fs";
import type { Command as Parser } from "commander";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { decodeLeniently } from "#apiserver/config/config-file.ts";
import {
  RECYCLER_TEMPLATE,
  type RecyclerSettings,
  type Recyclers,
} from "#controllers/persistent-volume/recycler-pod.ts";
import { messageOf } from "#lib/caught.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { type Flags, numberOf, textOf } from "../flags/read-flags.ts";

interface Names {
  readonly template: string;
  readonly secondsMin: string;
  readonly secondsPerGib: string;
}

/** Upstream names the last of them differently for each. */
const HOST_PATH: Names = {
  template: "pv-recycler-pod-template-filepath-hostpath",
  secondsMin: "pv-recycler-minimum-timeout-hostpath",
  secondsPerGib: "pv-recycler-timeout-increment-hostpath",
};
const NFS: Names = {
  template: "pv-recycler-pod-template-filepath-nfs",
  secondsMin: "pv-recycler-minimum-timeout-nfs",
  secondsPerGib: "pv-recycler-increment-timeout-nfs",
};

export function addRecyclerFlags(parser: Parser): Parser {
  return addFlags(addFlags(parser, HOST_PATH, "directories", "60"), NFS, "NFS shares", "300");
}

export function recyclersOf(flags: Flags): Recyclers {
  return { hostPath: settingsOf(flags, HOST_PATH), nfs: settingsOf(flags, NFS) };
}

function addFlags(parser: Parser, names: Names, volumes: string, seconds: string): Parser {
  return parser
    .option(`--${names.template} <file>`, `a pod that empties ${volumes}`)
    .option(`--${names.secondsMin} <seconds>`, "that it has at least", seconds)
    .option(`--${names.secondsPerGib} <seconds>`, "that it has for each GiB", "30");
}

function settingsOf(flags: Flags, names: Names): RecyclerSettings {
  const file = textOf(flags, names.template);
  return {
    template: file === undefined ? RECYCLER_TEMPLATE : templateFrom(file, names.template),
    secondsMin: numberOf(flags, names.secondsMin),
    secondsPerGib: numberOf(flags, names.secondsPerGib),
  };
}

function templateFrom(file: string, flag: string): RecyclerSettings["template"] {
  try {
    const kind = { kind: "Pod", apiVersions: ["v1"], schema: podKind.schema() };
    const { metadata, spec } = decodeLeniently(readFileSync(file, "utf8"), kind, () => {}) as Pod;
    if ((spec.volumes ?? []).length === 0) throw new Error("does not contain any volume(s)");
    return { metadata, spec };
  } catch (error) {
    throw new FlagError(`--${flag}: ${file}: ${messageOf(error)}`);
  }
}
