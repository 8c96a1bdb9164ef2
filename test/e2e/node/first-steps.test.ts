/**
 * The README's first steps, as they are printed, from a clean clone: with what the launcher sets up and kubectl
 * on a machine without a network.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ProgramResult, runProgram } from "#host/run-program.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "coverage", "generated"]);

/** What a step prints, by its beginning. */
const PRINTED: Readonly<Record<string, RegExp>> = {
  "kubectl rollout status": /successfully rolled out/,
  curl: /^Hello from web-\S+\n$/,
  "kubectl logs deployment/web": /^web-\S+ serves HTTP on port 8080\n.* GET \/\n/,
  "kubectl exec deployment/web": /^Hello from web-\S+\n$/,
  "kubectl logs job/once": /^done\n$/,
  "kubectl exec notes": /^kept\n$/,
  "kubectl get pods,services": /service\/web +LoadBalancer.*\n[\s\S]*claim\/notes +Bound/,
};

/** Steps that read. They are repeated: the cluster does independent things at its own pace. */
const READS = /^(curl|kubectl (rollout status|wait|logs|exec|get)) /;

describe("README: first steps", () => {
  let machine: Machine;
  let clone: string;

  beforeAll(async () => {
    for (const program of ["kubectl", "curl"] as const) {
      const why = missingProgram(program);
      if (why !== undefined) throw new Error(why);
    }
    machine = await startMachine(); // has loopback only
    clone = join(machine.dir, "clone");
    await cleanCopy(clone);
    symlinkSync(join(REPOSITORY, "node_modules"), join(clone, "node_modules")); // npm would need a network
  }, 60_000);

  afterAll(async () => {
    await shell("./k8ts down --purge");
    const links = await machine.run("ip", ["-o", "link"]);
    assert.doesNotMatch(links.stdout, /k8t/);
    await machine[Symbol.asyncDispose]();
  }, 120_000);

  /** In the clone, with a home directory of the machine's own. */
  function shell(line: string): Promise<ProgramResult> {
    const home = join(machine.dir, "home");
    const env = `unset KUBECONFIG; mkdir -p ${home}; export HOME=${home}; cd ${clone}`;
    return machine.run("bash", ["-c", `${env}; ${line}`]);
  }

  test("a clean clone: ./k8ts up builds, then create deployment, expose, logs, exec, scale, rollout, job, PersistentVolumeClaim as printed", async () => {
    const before = await git("-C", clone, "status", "--porcelain");
    const up = await shell("./k8ts up --no-install");
    assert.equal(up.exitCode, 0, up.stderr);
    assert.match(up.stderr, /^k8ts: building$/m);
    const steps = firstSteps(clone);
    assert.ok(steps.length >= 15, steps.join("\n"));
    for (const step of steps) {
      let last = await shell(step);
      if (READS.test(step)) {
        await until(async () => isGood(step, last) || isGood(step, (last = await shell(step))), {
          timeoutMs: 90_000,
        }).catch(() => undefined);
      }
      assert.ok(isGood(step, last), `${step}: ${last.exitCode}\n${last.stdout}\n${last.stderr}`);
    }
    assert.equal(await git("-C", clone, "status", "--porcelain"), before);
  }, 300_000);
});

function isGood(step: string, { exitCode, stdout }: ProgramResult): boolean {
  const [, printed] = Object.entries(PRINTED).find(([start]) => step.startsWith(start)) ?? [];
  return exitCode === 0 && (printed === undefined || printed.test(stdout));
}

/** A clone; of sources without history a copy, which is made a repository of its own. */
async function cleanCopy(to: string): Promise<void> {
  if (existsSync(join(REPOSITORY, ".git"))) {
    await git("-c", "safe.directory=*", "clone", "--quiet", REPOSITORY, to);
    return;
  }
  const isSource = (path: string): boolean => !NOT_SOURCES.has(basename(path));
  await cp(REPOSITORY, to, { recursive: true, filter: isSource });
  await git("init", "--quiet", to);
}

async function git(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram("git", args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

/** The lines of the code block below the heading. */
function firstSteps(folder: string): readonly string[] {
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const [, below = ""] = readme.split("## First steps\n");
  const [, block = ""] = /```sh\n([\s\S]*?)```/.exec(below) ?? [];
  return block.split("\n").filter((line) => line !== "");
}
