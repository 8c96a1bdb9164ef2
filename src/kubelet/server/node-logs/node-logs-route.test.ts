import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import type { KubeletAnswer } from "../answer.ts";
import { journalArguments, parseLogQuery } from "./log-query.ts";
import { nodeLogsRoute } from "./node-logs-route.ts";

const FILE = "a-unit-of-this-test.log";
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "k8ts-node-logs-"));
  await mkdir(join(folder, "log/sub"), { recursive: true });
  await writeFile(join(folder, "secret"), "secret");
  await writeFile(join(folder, "log", FILE), "one\n");
  await symlink("../secret", join(folder, "log/link"));
});
afterAll(() => rm(folder, { recursive: true }));

test("/logs/ lists the folder and serves files, never what lies outside", async () => {
  assert.match(
    await text(await ask([""])),
    /<a href="a-unit[^\n]*\n<a href="link"[^\n]*\n<a href="sub\/"/,
  );
  assert.equal(await text(await ask([FILE])), "one\n");
  for (const parts of [["link"], ["..", "secret"], ["missing"]]) {
    assert.equal(await text(await ask(parts)), "404 page not found\n");
  }
});

test("node log query reads the service's file where the journal has nothing; needs enableSystemLogQuery", async () => {
  assert.equal(await text(await ask([""], "query=a-unit-of-this-test")), "one\n");
  const off = await ask([""], "query=a-unit-of-this-test", false);
  assert.equal(off.form === "text" && off.code, 405);
});

const refused = [
  { query: "query=%20", says: "query: Required value: cannot be empty with options" },
  {
    query: "query=a&query=/b",
    says: 'query: Invalid value: ["/b","a"]: cannot specify a file and service',
  },
  {
    query: "query=/b&tailLines=3",
    says: 'query: Invalid value: ["/b"]: cannot specify file with options',
  },
  {
    query: "query=a;b",
    says: 'query: Invalid value: "a;b": input contains unsupported characters',
  },
  { query: "query=a&boot=1", says: "boot: Invalid value: 1: must be less than 1" },
  {
    query: "query=a&tailLines=-1",
    says: "tailLines: Invalid value: -1: must be between 0 and 100000, inclusive",
  },
];
for (const { query, says } of refused) {
  test(`node log query ${query} is refused: ${says}`, () => {
    assert.deepEqual(parseLogQuery(new URLSearchParams(query)), { ok: false, message: says });
  });
}

test("node log query: options become arguments of journalctl", () => {
  const options = "sinceTime=2026-01-02T03:04:05Z&tailLines=5&pattern=err&boot=-1";
  const parsed = parseLogQuery(new URLSearchParams(`query=kubelet&${options}`));
  assert.deepEqual(parsed.ok && journalArguments(parsed.query), [
    ...["--utc", "--no-pager", "--output=short-precise", "--since=2026-01-02 03:04:05"],
    ...["--pager-end", "--lines=5", "--unit=kubelet", "--grep=err", "--boot", "-1"],
  ]);
});

function ask(parts: readonly string[], query = "", allowQuery = true): Promise<KubeletAnswer> {
  const { signal } = new AbortController();
  const where = { folder: join(folder, "log"), parts, allowQuery, signal };
  return nodeLogsRoute({ ...where, query: new URLSearchParams(query) });
}

async function text(answer: KubeletAnswer): Promise<string> {
  if (answer.form === "text") return answer.text;
  let all = "";
  for await (const chunk of answer.chunks) all += Buffer.from(chunk).toString();
  return all;
}
