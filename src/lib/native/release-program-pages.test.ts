import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, test } from "vitest";
import { unchangedMappings } from "./release-program-pages.ts";

const NODE = "/opt/node/bin/node";

describe("releaseProgramPages: given back are", () => {
  const rows = [
    { name: "mappings of code", entry: mapping({}), released: true },
    { name: "mappings of constants", entry: mapping({ access: "r--p" }), released: true },
    { name: "not writable mappings", entry: mapping({ access: "rw-p" }), released: false },
    { name: "not what the loader wrote to", entry: mapping({ dirtyKb: 24 }), released: false },
    {
      name: "not what it wrote to and is clean",
      entry: mapping({ anonymousKb: 4 }),
      released: false,
    },
    { name: "not other files", entry: mapping({ file: "/usr/lib/libc.so.6" }), released: false },
    { name: "not memory without a file", entry: mapping({ file: "" }), released: false },
    {
      name: "not what the kernel says nothing about",
      entry: mapping({}).replace(/Private_Dirty.*\n/, ""),
      released: false,
    },
  ];
  for (const { name, entry, released } of rows) {
    test(name, () => {
      const other = mapping({ start: "aa000", end: "ab000", file: "/some/other" });
      const found = unchangedMappings(`${other}${entry}${other}`, NODE);
      assert.deepEqual(found, released ? [{ start: 0x7f10_0000n, end: 0x7f20_0000n }] : []);
    });
  }
});

test("releaseProgramPages: RssFile of a process on a newer Node falls, and it goes on", async () => {
  const module = JSON.stringify(
    fileURLToPath(new URL("release-program-pages.ts", import.meta.url)),
  );
  const program = `
    import { readFileSync } from "node:fs";
    import { releaseProgramPages } from ${module};
    const fileKb = () => Number(/RssFile:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
    const before = fileKb();
    await releaseProgramPages();
    const after = fileKb();
    console.log(JSON.stringify({ before, after, canCall: process.getBuiltinModule("node:ffi") !== undefined }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--disable-warning=ExperimentalWarning", "--import", "tsx"],
    ...["--input-type=module", "--eval", program],
  ]);
  const { before, after, canCall } = JSON.parse(stdout);
  if (canCall) assert.ok(after < before * 0.7, stdout);
  else assert.ok(after > before * 0.7, stdout);
});

function mapping({
  start = "7f100000",
  end = "7f200000",
  access = "r-xp",
  file = NODE,
  dirtyKb = 0,
  anonymousKb = 0,
}): string {
  return `${start}-${end} ${access} 00ef8000 fe:00 1234${" ".repeat(20)}${file}
Size:               1024 kB
Rss:                 512 kB
Private_Clean:         0 kB
Private_Dirty:        ${dirtyKb} kB
Anonymous:            ${anonymousKb} kB
VmFlags: rd ex mr mw me
`;
}
