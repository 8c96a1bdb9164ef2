import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { makeDataDir } from "./data-dir.ts";

const root = mkdtempSync(join(tmpdir(), "k8ts-test-data-dir-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("--data-dir", () => {
  test("is made with all that leads to it, and may be there", () => {
    const path = join(root, "a/b/c");
    makeDataDir(path);
    makeDataDir(path);
    assert.ok(existsSync(path));
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });

  test("where none can be made is refused, at once", () => {
    assert.throws(
      () => makeDataDir("/proc/nowhere/data"),
      /--data-dir "\/proc\/nowhere\/data" cannot be used/,
    );
  });

  test("that is a file, or below one, is refused", () => {
    const file = join(root, "file");
    writeFileSync(file, "");
    assert.throws(() => makeDataDir(file), /cannot be used: there is something else/);
    assert.throws(
      () => makeDataDir(join(file, "x")),
      /cannot be used: ENOTDIR|there is something else/,
    );
  });
});
