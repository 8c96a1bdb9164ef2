/** The npm package as users get it: packed, unpacked in a fresh project, used as docs/controllers.md says. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { emitTypes } from "../../tools/emit-types.ts";
import { pack } from "../../tools/package.ts";
import { buildProgram } from "../built-program.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("npm package of k8ts up and k8ts/controller", () => {
  const project = mkdtempSync(join(tmpdir(), "k8ts-project-"));
  const installed = join(project, "node_modules", "k8ts");

  beforeAll(() => {
    buildProgram();
    assert.equal(emitTypes(), 0);
    const tarball = pack(project);
    mkdirSync(installed, { recursive: true });
    run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
    // What npm would fetch.
    mkdirSync(join(project, "node_modules", "@types"));
    for (const name of [...Object.keys(manifest().dependencies), "typescript", "@types/node"]) {
      symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
    }
    writeFileSync(join(project, "package.json"), '{ "name": "fresh", "type": "module" }');
    for (const [, name = "", code = ""] of guide().matchAll(/```ts (\S+)\n(.*?)```/gs)) {
      writeFileSync(join(project, name), code);
    }
  }, 180_000);
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  function run(program: string, args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, encoding: "utf8" });
    assert.equal(status, 0, `${program} ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  function manifest(): { dependencies: Record<string, string>; bin: { k8ts: string } } & object {
    return JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  }

  test("has no sources, no tests, no code cache, and does not bring a second Node along", () => {
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((file) => /\.test\.|\.compiled|\.map$|^src/.test(file)),
      [],
    );
    assert.deepEqual(Object.keys(manifest().dependencies), ["lmdb"]);
    for (const key of ["optionalDependencies", "scripts", "private"]) {
      assert.ok(!(key in manifest()), key);
    }
  });

  test("bin is a program: npx k8ts runs", () => {
    const bin = join(installed, manifest().bin.k8ts);
    assert.match(readFileSync(bin, "utf8"), /^#!\/usr\/bin\/env node\n/);
    assert.equal(statSync(bin).mode & 0o111, 0o111);
    assert.match(run(bin, ["--version"]), /Kubernetes/);
    assert.match(run(bin, ["up", "--help"]), /--data <dir>/);
  });

  test("an error in the library does not print the whole file", () => {
    const lines = readFileSync(join(installed, "dist", "controller.js"), "utf8").split("\n");
    assert.ok(Math.max(...lines.map(({ length }) => length)) < 2_000);
  });

  test("the guide to controllers can be followed: its code compiles, and its test passes", () => {
    assert.ok(existsSync(join(project, "welcome.ts")));
    run(process.execPath, [
      join(ROOT, "node_modules", "typescript", "bin", "tsc"),
      ...["welcome.ts", "welcome.test.ts", "--strict", "--module", "nodenext"],
      ...["--target", "es2023", "--lib", "es2024,esnext.disposable", "--types", "node"],
      ...["--outDir", "out"],
    ]);
    writeFileSync(join(project, "out", "package.json"), '{ "type": "module" }');
    assert.match(run(process.execPath, ["--test", "out/welcome.test.js"]), /pass 1\b/);
  }, 60_000);

  test("k8ts/testing: the examples of an operator and of a node failure pass outside of the repository", () => {
    const names = ["website-operator", "website-operator.test", "node-failure.test"];
    for (const name of names) {
      const text = readFileSync(join(ROOT, "examples", `${name}.ts`), "utf8");
      const outside = text.replace('"vitest"', '"node:test"').replace(/"(\.\/.*)\.ts"/g, '"$1.js"');
      writeFileSync(join(project, `${name}.ts`), outside);
    }
    run(process.execPath, [
      join(ROOT, "node_modules", "typescript", "bin", "tsc"),
      ...[...names.map((name) => `${name}.ts`), "--strict", "--module", "nodenext"],
      ...["--target", "es2023", "--lib", "es2024,esnext.disposable", "--types", "node"],
      ...["--outDir", "out"],
    ]);
    const tests = names.filter((name) => name.endsWith(".test")).map((name) => `out/${name}.js`);
    assert.match(run(process.execPath, ["--test", ...tests]), /pass 2\b/);
  }, 120_000);
});

function guide(): string {
  return readFileSync(join(ROOT, "docs", "controllers.md"), "utf8");
}
