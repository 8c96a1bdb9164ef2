/** `k8ts up --manifests DIR` of the built program: applied at the start and on change, pruned, shown by status. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram } from "#host/run-program.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, PROGRAM, type RunningProgram, startProgram } from "../built-program.ts";
import { until } from "./node/eventually.ts";

const dir = mkdtempSync(join(tmpdir(), "k8ts-manifests-"));
const data = join(dir, "data");
const manifests = join(dir, "mine");
const LIMIT = { timeoutMs: 90_000, everyMs: 200 };
let up: RunningProgram;

beforeAll(async () => {
  const why = missingProgram("kubectl");
  if (why !== undefined) throw new Error(why);
  buildProgram();
  mkdirSync(join(data, "manifests"), { recursive: true, mode: 0o700 });
  mkdirSync(manifests);
  writeFileSync(join(data, "manifests", "own.yaml"), configMap("own"));
  writeFileSync(
    join(manifests, "shop.yaml"),
    `${configMap("one", "shop")}---\n${configMap("two", "shop")}---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n`,
  );
  const flags = ["--foreground", "--no-node", "--port", "0", "--data", data];
  up = startProgram(["up", ...flags, "--manifests", manifests]);
  await up.says(/KUBECONFIG/);
}, 180_000);

afterAll(async () => {
  await up[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

test("--manifests: what is in DIR/manifests and in the folder is applied at the start, Namespaces first", async () => {
  await until(async () => (await configMaps()).join() === "own,one,two", LIMIT);
}, 120_000);

test("--manifests: a file that changes is applied, a mistake shows in status, a file that goes is pruned", async () => {
  writeFileSync(join(manifests, "shop.yaml"), `${configMap("one", "shop")}---\nkind: [`);
  const status = () => runProgram(process.execPath, [PROGRAM, "status", "--data", data]);
  await until(async () => /^manifest .*shop\.yaml: /m.test((await status()).stdout), LIMIT);
  assert.equal((await status()).exitCode, 1);
  assert.deepEqual(await configMaps(), ["own", "one", "two"]);
  writeFileSync(join(manifests, "shop.yaml"), configMap("three"));
  await until(async () => (await configMaps()).join() === "own,three", LIMIT);
  await until(async () => !/^manifest/m.test((await status()).stdout), LIMIT);
  rmSync(join(manifests, "shop.yaml"));
  await until(async () => (await configMaps()).join() === "own", LIMIT);
}, 300_000);

function configMap(name: string, namespace = "default"): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${namespace}, labels: {test: "yes"}}\n`;
}

async function configMaps(): Promise<readonly string[]> {
  const args = ["--kubeconfig", join(data, "kubeconfig"), "get", "configmaps", "-A"];
  const more = ["-l", "test=yes", "-o", "jsonpath={.items[*].metadata.name}"];
  const { stdout } = await runProgram("kubectl", [...args, ...more]);
  const order = ["own", "one", "two", "three"];
  return stdout.split(" ").sort((a, b) => order.indexOf(a) - order.indexOf(b));
}
