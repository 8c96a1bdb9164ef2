import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "vitest";

const root = new URL("../", import.meta.url);

test("architecture: every source file that docs/architecture.md names is there", () => {
  const text = readFileSync(new URL("docs/architecture.md", root), "utf8");
  const named = [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = ""]) => path);
  assert.ok(named.length > 40, `only ${named.length} files are named`);
  const missing = named.filter(
    (path) =>
      !existsSync(new URL(path, root)) && !existsSync(new URL(`src/apiserver/${path}`, root)),
  );
  assert.deepEqual(missing, []);
});

test("architecture: every path below src or tools that a page of docs names is there", () => {
  const docs = readdirSync(new URL("docs/", root), { recursive: true, encoding: "utf8" });
  const pages = [...docs.map((page) => `docs/${page}`), "README.md", "CONTRIBUTING.md"].filter(
    (page) => page.endsWith(".md"),
  );
  const missing = pages.flatMap((page) => {
    const text = readFileSync(new URL(page, root), "utf8");
    const named = [...text.matchAll(/`((?:src|tools)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
    return named
      .filter((path) => path !== "src/api/generated" && !existsSync(new URL(path, root)))
      .map((path) => `${page}: ${path}`);
  });
  assert.deepEqual(missing, []);
});

test("architecture: every folder of src is in the table of docs/architecture.md", () => {
  const text = readFileSync(new URL("docs/architecture.md", root), "utf8");
  const folders = readdirSync(new URL("src/", root)).map((folder) => `src/${folder}`);
  assert.ok(folders.length > 15);
  assert.deepEqual(
    folders.filter((folder) => !text.includes(`| \`${folder}\``)),
    [],
  );
});
