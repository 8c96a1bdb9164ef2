import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "vitest";
import { shellQuoted } from "./shell-quoted.ts";

test.each([
  "/home/me/.k8ts/kubeconfig",
  "/tmp/my cluster/kubeconfig",
  '/tmp/it\'s $HOME; `ls` "x" \\ * ~ #/kubeconfig',
  "",
])("export KUBECONFIG=… can be pasted: %s", (path) => {
  const script = `export KUBECONFIG=${shellQuoted(path)}; printf %s "$KUBECONFIG"`;
  assert.equal(execFileSync("sh", ["-c", script], { encoding: "utf8" }), path);
});

test("shellQuoted: a plain path is left as it is", () => {
  assert.equal(shellQuoted("/home/me/.k8ts/kubeconfig"), "/home/me/.k8ts/kubeconfig");
});
