/**
 * Imports and exports images of containerd with its own client program, `ctr`, which comes with it.
 * CRI itself has no calls for that.
 */
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pathExists, removeTree } from "#host/files.ts";
import { mustRun } from "#host/run-program.ts";
import { packFolder } from "./image-archive.ts";

/** The namespace of containerd in which the kubelet's images and containers live. */
const NAMESPACE = "k8s.io";

export interface ContainerdImages {
  /** An archive of `docker save` or of the OCI layout, gzip and zstd layers too. */
  importFile(file: string, signal?: AbortSignal): Promise<readonly string[]>;
  /** A folder that holds an OCI layout. */
  importFolder(folder: string, signal?: AbortSignal): Promise<readonly string[]>;
  importStream(archive: Readable, signal?: AbortSignal): Promise<readonly string[]>;
  /** Writes an OCI archive. */
  export(names: readonly string[], file: string, signal?: AbortSignal): Promise<void>;
}

/** `workFolder` takes archives that have to be written down before they can be imported. */
export function containerdImages(endpoint: string, workFolder: string): ContainerdImages {
  const address = endpoint.replace(/^unix:\/\//, "");
  const ctr = (args: readonly string[], signal?: AbortSignal): Promise<string> =>
    mustRun("ctr", ["--address", address, "--namespace", NAMESPACE, "images", ...args], { signal });
  const importFile = async (file: string, signal?: AbortSignal): Promise<readonly string[]> => {
    if (!(await stat(file)).isFile()) throw new Error(`${file} is not a file`);
    return importedNames(await ctr(["import", file], signal));
  };
  const withDraft = async (
    write: (file: string) => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<readonly string[]> => {
    await mkdir(workFolder, { recursive: true });
    const folder = await mkdtemp(join(workFolder, "import-"));
    try {
      const file = join(folder, "image.tar");
      await write(file);
      return await importFile(file, signal);
    } finally {
      await removeTree(folder);
    }
  };
  return {
    importFile,
    importFolder: async (folder, signal) => {
      if (!(await pathExists(join(folder, "oci-layout")))) {
        throw new Error(`${folder} is not an OCI image layout: it has no file oci-layout`);
      }
      return withDraft((file) => packFolder(folder, file, signal), signal);
    },
    importStream: (archive, signal) =>
      withDraft(
        (file) =>
          pipeline(archive, createWriteStream(file), signal === undefined ? {} : { signal }),
        signal,
      ),
    export: async (names, file, signal) => {
      await ctr(["export", file, ...names], signal);
    },
  };
}

/** `unpacking docker.io/library/busybox:latest (sha256:…)...done`, a line for each image. */
function importedNames(output: string): readonly string[] {
  return [...output.matchAll(/^unpacking (\S+) \(/gm)].map(([, name = ""]) => name);
}
