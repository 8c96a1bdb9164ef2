import assert from "node:assert/strict";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "vitest";
import { SCRIPT_HEAD, ScriptLoader, SOURCE_HASH } from "./script-loader.ts";

describe("script loader: scripts of the build and their code caches", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "k8ts-scripts-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const script = (name: string, hash: string, body: string): void =>
    writeFileSync(join(folder, name), `${SCRIPT_HEAD}${body}\n})\n${SOURCE_HASH}${hash}\n`);
  const newLoader = (): ScriptLoader => new ScriptLoader(folder, join(folder, "cache"));
  const caches = (): string[] => readdirSync(join(folder, "cache"));
  const only = (names: readonly string[]): string => {
    assert.equal(names.length, 1);
    return join(folder, "cache", names[0]!);
  };

  test("require: scripts that require each other run once, in strict mode, with modules of Node", () => {
    script(
      "shared.cjs",
      "s",
      "exports.count = (globalThis.scriptRuns = (globalThis.scriptRuns ?? 0) + 1);",
    );
    script(
      "main.cjs",
      "m",
      'const shared = require("./shared.cjs"); exports.again = require("./shared.cjs") === shared;' +
        'exports.count = shared.count; exports.isStrict = this === undefined; exports.sep = require("node:path").sep;',
    );
    const loader = newLoader();
    const exports = loader.load("main.cjs");
    assert.deepEqual({ ...exports }, { again: true, count: 1, isStrict: true, sep: "/" });
    assert.equal(loader.load("main.cjs"), exports);
  });

  test("import: a module beside the script is loaded, also by functions of a code cache", async () => {
    writeFileSync(join(folder, "module.mjs"), "export const answer = 42;");
    script("main.cjs", "m", 'exports.load = () => importModule("./module.mjs");');
    for (const run of ["without a code cache", "with one"]) {
      const loader = newLoader();
      const { answer } = await Reflect.get(loader.load("main.cjs"), "load")();
      assert.equal(answer, 42, run);
      loader.writeCodeCaches();
    }
  });

  test("code cache: one file per script; a loader that used it does not write it again", () => {
    script("main.cjs", "m", "exports.answer = () => 42;");
    const first = newLoader();
    first.load("main.cjs");
    first.writeCodeCaches();
    const file = only(caches());
    assert.match(file, /main\.cjs-m-/);
    const second = newLoader();
    assert.equal(Reflect.get(second.load("main.cjs"), "answer")(), 42);
    rmSync(file);
    second.writeCodeCaches();
    assert.deepEqual(caches(), []);
  });

  test("code cache: with the option all, functions of a second run are added to it", () => {
    script("main.cjs", "m", `exports.late = () => [${"1 + 2 * Math.random(), ".repeat(200)}];`);
    const first = newLoader();
    first.load("main.cjs");
    first.writeCodeCaches();
    const small = readFileSync(only(caches())).length;
    const second = newLoader();
    Reflect.get(second.load("main.cjs"), "late")();
    second.writeCodeCaches({ all: true });
    assert.ok(readFileSync(only(caches())).length > small);
  });

  test("code cache: neither one of another source nor a damaged one is used", () => {
    script("main.cjs", "old", "exports.answer = () => 1;");
    const first = newLoader();
    first.load("main.cjs");
    first.writeCodeCaches();
    truncateSync(only(caches()), 100);
    assert.equal(Reflect.get(newLoader().load("main.cjs"), "answer")(), 1);
    script("main.cjs", "new", "exports.answer = () => 2;"); // as long as the old one
    assert.equal(Reflect.get(newLoader().load("main.cjs"), "answer")(), 2);
  });

  test("code cache: a folder that cannot be written is no error", () => {
    script("main.cjs", "m", "exports.answer = 42;");
    const loader = new ScriptLoader(folder, join(folder, "main.cjs", "cache"));
    loader.load("main.cjs");
    loader.writeCodeCaches();
    assert.deepEqual(readdirSync(folder), ["main.cjs"]);
  });
});
