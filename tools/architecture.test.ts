import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "vitest";

const root = new URL("../", import.meta.url);

test("docs/architecture.md: every source file that it names is there", () => {
  const text = readFileSync(new URL("docs/architecture.md", root), "utf8");
  const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = ""]) => path);
  assert.ok(named.length > 40, `only ${named.length} files are named`);
  const missing = named.filter(
    (path) =>
      !existsSync(new URL(path, root)) && !existsSync(new URL(`src/apiserver/${path}`, root)),
  );
  assert.deepEqual(missing, []);
});
