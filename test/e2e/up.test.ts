/** The built program, run as a user runs it: `up`, the real kubectl, `down`. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { freePort } from "#testing/free-ports.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";

describe("k8ts up", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-up-"));
  let server: ChildProcess | undefined;
  let output = "";

  beforeAll(async () => {
    buildProgram();
    const args = [
      PROGRAM,
      "up",
      "--foreground",
      "--no-node",
      "--data",
      data,
      "--port",
      "0",
      "--bind-address",
      "127.0.0.1",
    ];
    server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    await new Promise<void>((resolve, reject) => {
      server!.stdout!.on("data", (chunk) => {
        output += chunk;
        if (output.includes("KUBECONFIG")) resolve();
      });
      server!.stderr!.on("data", (chunk) => {
        output += chunk;
      });
      server!.on("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)));
    });
  }, 60_000);

  afterAll(() => {
    server?.kill("SIGKILL");
    rmSync(data, { recursive: true, force: true });
  });

  function kubectl(...args: string[]): string {
    const { status, stdout, stderr } = spawnSync("kubectl", args, {
      encoding: "utf8",
      env: { ...process.env, KUBECONFIG: join(data, "kubeconfig") },
    });
    assert.equal(status, 0, `kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  test("says when it is ready and where", () => {
    assert.match(output, /^ready in \d+ ms: https:\/\/127\.0\.0\.1:\d+\n {2}export KUBECONFIG=/m);
    assert.equal(statSync(join(data, "kubeconfig")).mode & 0o777, 0o600);
  });

  test("kubectl makes a namespace with its account, a deployment with its pods, and both go again", (context) => {
    const missing = missingProgram("kubectl");
    if (missing !== undefined) return context.skip(missing);
    kubectl("create", "namespace", "shop");
    kubectl("wait", "--for=create", "serviceaccount/default", "-n", "shop", "--timeout=50s");
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", "shop");
    kubectl(
      "wait",
      "--for=jsonpath={.status.replicas}=3",
      "deployment/web",
      "-n",
      "shop",
      "--timeout=50s",
    );
    assert.equal(
      kubectl("get", "pods", "-n", "shop", "-l", "app=web", "--no-headers").trim().split("\n")
        .length,
      3,
    );
    assert.match(
      kubectl("get", "deployment", "web", "-n", "shop", "-o", "wide"),
      /web\s+0\/3\s+3\s+0/,
    );
    assert.match(
      kubectl("describe", "deployment", "web", "-n", "shop"),
      /ScalingReplicaSet.*Scaled up replica set web-\w+ from 0 to 3/,
    );
    kubectl("scale", "deployment", "web", "--replicas=1", "-n", "shop");
    kubectl(
      "wait",
      "--for=jsonpath={.status.replicas}=1",
      "deployment/web",
      "-n",
      "shop",
      "--timeout=50s",
    );
    kubectl("delete", "deployment", "web", "-n", "shop", "--timeout=50s");
    kubectl("wait", "--for=delete", "pods", "-l", "app=web", "-n", "shop", "--timeout=50s");
    kubectl("delete", "namespace", "shop", "--timeout=50s");
    return undefined;
  }, 120_000);

  test("k8ts controller-manager beside it is healthy, reports flags without effect, and ends on SIGTERM", async () => {
    const port = await freePort();
    const kubeconfig = join(data, "controller-manager.kubeconfig");
    const args = ["controller-manager", "--kubeconfig", kubeconfig, "--secure-port", `${port}`];
    const odd = ["--controllers", "ttl-controller,service-lb-controller", "--profiling=false"];
    const own = ["--leader-elect-resource-name", "ttl-only"];
    const manager = spawn(process.execPath, [PROGRAM, ...args, ...odd, ...own], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    manager.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<number | null>((resolve) => manager.on("exit", resolve));
    try {
      const leads = (): boolean => stderr.includes("leading") || manager.exitCode !== null;
      for (let i = 0; i < 500 && !(leads() && (await isHealthy(port))); i++) await sleep(50);
      assert.ok(await isHealthy(port), stderr);
    } finally {
      manager.kill("SIGTERM");
    }
    assert.equal(await ended, 0, stderr);
    assert.match(stderr, /flags without effect.*--profiling/);
    assert.match(stderr, /a controller does not run.*service-lb-controller/);
    assert.doesNotMatch(stderr, /Error/);
  }, 60_000);

  test("down leaves the cluster alone when it is given a copy of its data directory", async () => {
    const copy = mkdtempSync(join(tmpdir(), "k8ts-copy-"));
    try {
      cpSync(data, copy, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
      const down = spawnSync(process.execPath, [PROGRAM, "down", "--data", copy], {
        encoding: "utf8",
      });
      assert.match(down.stderr, /nothing runs on/);
      assert.equal(down.status, 1);
      await sleep(200);
      assert.equal(server!.exitCode, null);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  test("down does not end another process that has the number in k8ts.pid", async () => {
    const folder = mkdtempSync(join(tmpdir(), "k8ts-stranger-"));
    const stranger = spawn("sleep", ["60"]);
    try {
      const own = JSON.parse(readFileSync(join(data, "k8ts.pid"), "utf8")) as object;
      const { dev, ino } = statSync(folder);
      const file = { ...own, pid: stranger.pid, directory: `${dev}:${ino}` };
      for (const content of [`${stranger.pid}`, JSON.stringify(file)]) {
        writeFileSync(join(folder, "k8ts.pid"), content);
        const down = spawnSync(process.execPath, [PROGRAM, "down", "--data", folder], {
          encoding: "utf8",
        });
        assert.equal(down.status, 1, down.stderr);
      }
      await sleep(200);
      assert.equal(stranger.signalCode, null);
    } finally {
      stranger.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("down ends it, and says so when there is nothing to end", async () => {
    const ended = new Promise<number | null>((resolve) => server!.on("exit", resolve));
    const down = spawnSync(process.execPath, [PROGRAM, "down", "--data", data], {
      encoding: "utf8",
    });
    assert.equal(down.status, 0, down.stderr);
    assert.equal(await ended, 0);
    assert.ok(!existsSync(join(data, "k8ts.pid")));
    const again = spawnSync(process.execPath, [PROGRAM, "down", "--data", data], {
      encoding: "utf8",
    });
    assert.equal(again.status, 1);
    assert.match(again.stderr, /nothing runs on/);
  });
});

describe("k8ts up that gets SIGTERM while it starts", () => {
  const data = mkdtempSync(join(tmpdir(), "k8ts-begin-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));

  // One folder for all: what a start that was cut short left there must not hurt the next.
  test.each([150, 250, 350, 450, 550, 700, 900])("after %d ms", async (delayMs) => {
    const args = ["--data", data, "--port", "0", "--bind-address", "127.0.0.1"];
    const up = spawn(process.execPath, [PROGRAM, "up", "--foreground", "--no-node", ...args], {
      stdio: "ignore",
    });
    const ended = new Promise<unknown>((resolve) =>
      up.on("exit", (code, signal) => resolve(code ?? signal)),
    );
    await sleep(delayMs);
    up.kill("SIGTERM");
    const outcome = await endOf(up, ended);
    assert.ok(outcome === 0 || outcome === "SIGTERM", `${outcome}`);
  });

  test("while etcd does not answer", async () => {
    const args = ["--data-dir", data, "--secure-port", "0", "--etcd-servers", "http://127.0.0.1:1"];
    const server = spawn(process.execPath, [PROGRAM, "apiserver", ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = new Promise<unknown>((resolve) => server.on("exit", resolve));
    await new Promise((resolve) => server.stderr.once("data", resolve));
    server.kill("SIGTERM");
    assert.equal(await endOf(server, ended), 0);
  });

  /** Nothing holds it up for longer than a second or so; the rest is for slow machines. */
  async function endOf(child: ChildProcess, ended: Promise<unknown>): Promise<unknown> {
    const outcome = await Promise.race([ended, sleep(20_000, "still there", { ref: false })]);
    child.kill("SIGKILL");
    return outcome;
  }
});

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false };
    const asked = request({ ...options, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on("error", () => resolve(false));
    asked.end();
  });
}
