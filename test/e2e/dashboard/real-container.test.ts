/**
 * The dashboard that `k8ts up` serves, in Chromium, with containers of containerd: follow a log, type in a
 * terminal, attach to a container, add a debug container. Everything runs in a machine without a way out.
 */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { until } from "../node/eventually.ts";
import { type Machine, startMachine } from "../node/machine.ts";
import { openTestPage, type TestPage } from "./browser.ts";

const IMAGE = "k8ts.local/busybox:1";
const LIMIT_MS = 90_000;
const ESCAPE = "\\033";
/** Lines that would retitle a terminal, colour it, or run a script if they were not shown as plain text. */
const HOSTILE = `${ESCAPE}]0;hacked\\007${ESCAPE}[31mred${ESCAPE}[0m <img src=x onerror=hacked=1>`;
const SCRIPT = `printf '${HOSTILE}\\n'; i=0; while :; do i=$((i+1)); echo tick $i; sleep 1; done`;
const BESIDE = "while :; do echo beside; sleep 1; done";
const missing = missingProgram("chromium") ?? missingProgram("kubectl");

describe.skipIf(missing !== undefined)("dashboard with real containers", () => {
  let machine: Machine;
  let data: string;
  let log = "";
  let opened: TestPage;
  let page: Page;
  let origin: string;

  beforeAll(async () => {
    buildProgram();
    machine = await startMachine();
    data = join(machine.dir, "data");
    const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
    const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
    await machine.run("sh", ["-c", `${link} && ${address}`]);
    const up = machine.start(process.execPath, [PROGRAM, "up", "--foreground", "--data", data]);
    const keep = (chunk: Buffer): void => {
      log = (log + String(chunk)).slice(-50_000);
    };
    up.stdout?.on("data", keep);
    up.stderr?.on("data", keep);
    await until(() => /dashboard: \S+\/\n/.test(log), { timeoutMs: LIMIT_MS });
    origin = new URL(/dashboard: (\S+)/.exec(log)?.[1] ?? "").origin;
    await buildImage(machine, data);
    const container = { name: "main", image: IMAGE, stdin: true, tty: true };
    const beside = { name: "beside", image: IMAGE, command: ["sh", "-c", BESIDE] };
    await apply(
      podOf("ticker", { name: "main", image: IMAGE, command: ["sh", "-c", SCRIPT] }, beside),
    );
    await apply(podOf("shell", { ...container, command: ["sh"] }));
    await kubectl("create", "serviceaccount", "ann");
    const binding = ["--clusterrole=cluster-admin", "--serviceaccount=default:ann"];
    await kubectl("create", "clusterrolebinding", "ann", ...binding);
    const token = (await kubectl("create", "token", "ann")).trim();
    const browser = join(machine.dir, "chromium");
    const enter = machine.enterNetwork.join(" ");
    writeFileSync(browser, `#!/bin/sh\nexec nsenter ${enter} /usr/bin/chromium "$@"\n`);
    chmodSync(browser, 0o755);
    opened = await openTestPage({ origin, timeoutMs: LIMIT_MS, executablePath: browser });
    page = opened.page;
    await page.goto(origin);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Cluster" }).waitFor();
    await kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=90s");
  }, 180_000);

  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await machine?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  async function kubectl(...args: string[]): Promise<string> {
    const config = ["--kubeconfig", join(data, "kubeconfig")];
    const result = await machine.run("kubectl", [...config, ...args]);
    assert.equal(result.exitCode, 0, `kubectl ${args.join(" ")}: ${result.stderr}\n${log}`);
    return result.stdout;
  }

  async function apply(object: object): Promise<void> {
    const args = ["--kubeconfig", join(data, "kubeconfig"), "apply", "-f", "-"];
    const { exitCode, stderr } = await machine.run("kubectl", args, JSON.stringify(object));
    assert.equal(exitCode, 0, stderr);
  }

  /** Types a line and waits for what only its output contains. */
  async function type(line: string, output: RegExp): Promise<void> {
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type(line);
    await page.keyboard.press("Enter");
    await page.locator(".xterm-rows").filter({ hasText: output }).waitFor();
  }

  test(
    "logs: followed, searched, and terminal escapes and markup are plain text",
    async () => {
      await page.goto(`${origin}/object/core/pods/default/ticker?tab=logs`);
      const shown = page.getByRole("log");
      await shown.filter({ hasText: /tick 3/ }).waitFor();
      const seen = Number(/tick (\d+)\s*$/.exec((await shown.textContent()) ?? "")?.[1]);
      await shown.filter({ hasText: new RegExp(`tick ${seen + 2}`) }).waitFor();
      assert.match((await shown.textContent()) ?? "", /^red <img src=x onerror=hacked=1>\n/);
      assert.equal(await page.evaluate("globalThis.hacked"), undefined);
      await page.getByLabel("Search").fill("img");
      await shown.filter({ hasText: /^red <img[^\n]*$/ }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "logs: all containers of a pod together, each line with its container",
    async () => {
      await page.goto(`${origin}/object/core/pods/default/ticker?tab=logs`);
      await page.getByLabel("Container").selectOption("all containers");
      const shown = page.getByRole("log");
      await shown.filter({ hasText: /\[main\] tick \d/ }).waitFor();
      await shown.filter({ hasText: /\[beside\] beside/ }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "terminal: a shell by exec runs what is typed, in the size of the page",
    async () => {
      await page.goto(`${origin}/object/core/pods/default/ticker`);
      const [terminal] = await Promise.all([
        page.context().waitForEvent("page"),
        page.getByRole("link", { name: "terminal in main" }).click(),
      ]);
      await terminal.close();
      await page.goto(`${origin}/terminal/default/ticker?container=main`);
      await page.locator(".xterm-rows").filter({ hasText: /[#$]/ }).waitFor();
      await type("echo answer-$((40 + 2))", /answer-42/);
      await type("exit", /exit/);
      await page.getByText("The program has ended.").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "terminal: attach reaches the container's own process",
    async () => {
      await page.goto(`${origin}/terminal/default/shell?container=main&mode=attach`);
      await page.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
      await type("", /[#$]/);
      await type("echo pid-$$-", /pid-1-/);
    },
    LIMIT_MS,
  );

  test(
    "terminal: a debug container is added to the pod and attached",
    async () => {
      await page.goto(`${origin}/terminal/default/ticker?container=main&mode=debug`);
      await page.getByLabel("Image").fill(IMAGE);
      await page.getByRole("button", { name: "Add a debug container" }).click();
      await page.locator(".xterm-helper-textarea").waitFor({ state: "attached" });
      await type("", /[#$]/);
      await type("ps | grep -c 'tick[ ]'", /^.*1/);
      const path = "jsonpath={.spec.ephemeralContainers[0].name}";
      assert.equal(await kubectl("get", "pod", "ticker", "-o", path), "debugger-1");
      await page.goto(`${origin}/object/core/pods/default/ticker?tab=logs`);
      await page.getByLabel("Container").selectOption("debugger-1");
      await page
        .getByRole("log")
        .filter({ hasText: /tick\[ \]/ })
        .waitFor();
    },
    LIMIT_MS,
  );

  test(
    "usage: charts of the processor time and memory of a pod and its node",
    async () => {
      await page.goto(`${origin}/object/core/pods/default/ticker?tab=usage`);
      const chart = page.locator("figure.chart");
      await chart.filter({ hasText: /^CPU: [\d.]+m? now/ }).waitFor();
      await chart.filter({ hasText: /^Memory: [\d.]+ [KM]iB now/ }).waitFor();
      assert.equal(await chart.locator("canvas").count(), 2);
    },
    LIMIT_MS,
  );

  test("security: nothing left for elsewhere, no script failed, nothing broke the CSP", () => {
    const { elsewhere, problems } = opened;
    assert.deepEqual({ elsewhere, problems }, { elsewhere: [], problems: [] });
  });
});

function podOf(name: string, ...containers: readonly object[]): object {
  const spec = { containers, terminationGracePeriodSeconds: 0 };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
}

async function buildImage(machine: Machine, data: string): Promise<void> {
  const root = join(machine.dir, "busybox");
  mkdirSync(join(root, "bin"), { recursive: true });
  copyFileSync("/bin/busybox", join(root, "bin", "busybox"));
  for (const name of ["sh", "sleep", "echo", "printf", "ps", "grep"])
    symlinkSync("busybox", join(root, "bin", name));
  const args = ["image", "build", root, "-t", IMAGE, "--env", "PATH=/bin", "--cmd", "/bin/sh"];
  const built = await machine.run(process.execPath, [PROGRAM, ...args, "--data", data]);
  if (built.exitCode !== 0) throw new Error(built.stderr);
}
