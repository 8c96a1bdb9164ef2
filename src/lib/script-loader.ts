/**
 * Loads files of the build that are scripts (tools/build.ts), each with V8's code cache of the functions
 * that earlier processes ran. Node's compile cache is made before a module runs: it lacks every function
 * that is compiled when it is first called, which is nearly all of them.
 *
 * Promises:
 * 1. A code cache is used only for the source it was made of, and V8 rejects those of another version of
 *    itself or of other flags.
 * 2. Without a code cache a script runs all the same, only slower.
 * 3. Code caches are replaced in one step: no process reads half of one.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";

/**
 * A script is a function, as Node makes one of a CommonJS module. It loads modules with the last argument:
 * V8 forgets for functions of a code cache how `import()` finds them.
 */
export const SCRIPT_HEAD =
  '(function(exports,require,module,__filename,__dirname,importModule){"use strict";';
/** The last line of a script is this and a hash of the lines before. */
export const SOURCE_HASH = "//# k8ts-source=";
/** The end of the names of scripts, by which they require each other. */
export const SCRIPT_SUFFIX = ".cjs";

type ScriptFunction = (
  exports: object,
  require: (id: string) => unknown,
  module: object,
  filename: string,
  folder: string,
  importModule: (specifier: string) => Promise<unknown>,
) => void;

interface LoadedScript {
  readonly script: Script;
  readonly cacheFile: string;
  readonly isCached: boolean;
}

export class ScriptLoader {
  readonly #folder: string;
  readonly #cacheFolder: string;
  readonly #exports = new Map<string, object>();
  #loaded: LoadedScript[] = [];

  constructor(folder: string, cacheFolder: string) {
    this.#folder = folder;
    this.#cacheFolder = cacheFolder;
  }

  /** Runs a script of the folder unless it was loaded before, and returns its exports. */
  load(name: string): object {
    const known = this.#exports.get(name);
    if (known !== undefined) return known;
    const filename = join(this.#folder, name);
    const loaded = this.#compile(filename);
    this.#loaded.push(loaded);
    const module = { exports: {} };
    this.#exports.set(name, module.exports);
    const nodeRequire = createRequire(filename);
    const require = (id: string): unknown =>
      id.endsWith(SCRIPT_SUFFIX) ? this.load(basename(id)) : nodeRequire(id);
    const run = loaded.script.runInThisContext() as ScriptFunction;
    const importModule = (specifier: string): Promise<unknown> =>
      import(pathToFileURL(join(this.#folder, specifier)).href);
    run(module.exports, require, module, filename, this.#folder, importModule);
    return module.exports;
  }

  /**
   * Writes code caches with the functions that are compiled by now: of the scripts that had none, or of
   * all. Soon after the start is the best time, since V8 drops the code of functions that have not run
   * for a while. Takes about 50 ms.
   */
  writeCodeCaches({ all = false } = {}): void {
    const scripts = this.#loaded.filter(({ isCached }) => all || !isCached);
    this.#loaded = [];
    try {
      if (scripts.length > 0) mkdirSync(this.#cacheFolder, { recursive: true });
      for (const { script, cacheFile } of scripts) {
        const partial = `${cacheFile}.${process.pid}`;
        writeFileSync(partial, script.createCachedData());
        renameSync(partial, cacheFile);
      }
    } catch {
      // The folder may belong to another user.
    }
  }

  #compile(filename: string): LoadedScript {
    const source = readFileSync(filename, "latin1"); // ASCII only, which the build sees to
    const hash = source.slice(source.lastIndexOf(SOURCE_HASH) + SOURCE_HASH.length).trim();
    const tag = cachedDataVersionTag().toString(16);
    const cacheFile = join(this.#cacheFolder, `${basename(filename)}-${hash}-${tag}`);
    const cachedData = readIfThere(cacheFile);
    const script = new Script(source, {
      filename,
      columnOffset: -SCRIPT_HEAD.length, // as in the source map
      ...(cachedData === undefined ? {} : { cachedData }),
    });
    const isCached = cachedData !== undefined && script.cachedDataRejected === false;
    return { script, cacheFile, isCached };
  }
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
