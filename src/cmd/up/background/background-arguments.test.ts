import assert from "node:assert/strict";
import { test } from "vitest";
import { defaultDataDir } from "../default-data-dir.ts";
import { backgroundDataDir } from "./background-arguments.ts";

test.each([
  { args: [], want: defaultDataDir() },
  { args: ["--no-node", "--data", "/d"], want: "/d" },
  { args: ["--data=/a=b"], want: "/a=b" },
  { args: ["--data"], want: undefined },
  { args: ["--foreground"], want: undefined },
  { args: ["--data=/d", "--help"], want: undefined },
  { args: ["--config=up.yaml"], want: undefined },
])("backgroundDataDir: k8ts up $args starts in the background on $want", ({ args, want }) => {
  assert.equal(backgroundDataDir(args), want);
});
