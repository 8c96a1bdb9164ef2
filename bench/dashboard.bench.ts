/**
 * The dashboard in Chromium on a large simulated cluster in which 500 objects change each second: the first
 * view, scrolling a list of all pods, what a tab gets and holds, and what a tab costs the server
 * (`k8ts dashboard`, a process of its own). DASHBOARD_NODES and DASHBOARD_PODS choose another size;
 * K8TS_BENCH_DATA is the data directory of a cluster that runs already.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { missingProgram } from "../tools/debian-packages.ts";
import { serveBarePage } from "./dashboard/bare-page.ts";
import { firstView, frameMs95, scroll, tabMb, trafficDuring } from "./dashboard/tab.ts";
import { cpuMs, launcherMs, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";
import { copyDeployments } from "./scale/copy-deployments.ts";
import { createDeployments, PODS_PER_DEPLOYMENT, untilReady } from "./scale/scale-load.ts";

export const name = "dashboard";

const LAUNCHER = fileURLToPath(new URL("../k8ts", import.meta.url));

const CHANGES_PER_SECOND = 500;
/** The first node of the overview. */
const FIRST_VIEW = "main .nodes li";
const FIRST_VIEW_MS = 1_000;
const FRAME_MS = 20;
const TRAFFIC_KB = 200;
const TAB_MB = 250;
const SERVER_PERCENT = 20;
const READY_WITHIN_MS = 1_200_000;
const DEPLOYMENTS_MADE = 40;
/** Components look at everything once when they start. */
const SETTLE_MS = 60_000;
/** About twelve thousand pixels in a second, as fast as people turn a wheel. */
const PX_PER_FRAME = 200;

export async function* run({ quick, progress, signal }: BenchOptions): AsyncIterable<Row> {
  const missing = missingProgram("chromium");
  if (missing !== undefined) throw new Error(missing);
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const nodes = Number(process.env.DASHBOARD_NODES ?? (quick ? 200 : 5_000));
  const pods = Number(process.env.DASHBOARD_PODS ?? (quick ? 2_000 : 150_000));
  const running = process.env.K8TS_BENCH_DATA;
  const data = running ?? join(folder, "data");
  try {
    await launcherMs(); // builds if need be
    progress(`${nodes} nodes`);
    const up = ["up", "--foreground", "--no-node", "--simulate", `${nodes}`];
    if (running === undefined) {
      progress(`${pods} pods`);
      await prepare(data, up, pods);
    }
    await using server = running === undefined ? await startProgram(up, data) : undefined;
    await server?.printedMs;
    if (running === undefined) await systemClock.sleep(quick ? 0 : SETTLE_MS, signal);
    const kubeconfig = join(data, "kubeconfig");
    using transport = transportTo(kubeconfig);
    const client = clientOver(transport);
    yield* ofOneTab({ client, kubeconfig, quick, pods, progress }, signal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the cluster until it has so many pods; most of them are copies of the first in its store. */
async function prepare(data: string, up: readonly string[], pods: number): Promise<void> {
  const deployments = pods / PODS_PER_DEPLOYMENT;
  const made = Math.min(deployments, DEPLOYMENTS_MADE);
  {
    await using server = await startProgram(up, data);
    await server.printedMs;
    using transport = transportTo(join(data, "kubeconfig"));
    const client = clientOver(transport);
    await createDeployments(client, 0, made);
    await untilReady(client, made * PODS_PER_DEPLOYMENT, READY_WITHIN_MS);
    await server.endMs();
  }
  await copyDeployments(join(data, "store"), made, deployments);
}

function transportTo(kubeconfig: string): HttpsTransport {
  return new HttpsTransport(connectionFromFile(kubeconfig), "bench");
}

function clientOver(transport: HttpsTransport): Client {
  const surroundings = { clock: systemClock, random: systemRandom, fieldManager: "bench" };
  return new Client({ transport, ...surroundings });
}

interface Parts {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly quick: boolean;
  readonly pods: number;
  readonly progress: BenchOptions["progress"];
}

async function* ofOneTab(
  { client, kubeconfig, quick, pods, progress }: Parts,
  signal: AbortSignal,
): AsyncIterable<Row> {
  const windowMs = quick ? 3_000 : 10_000;
  using dashboard = await startDashboard(kubeconfig);
  const done = new AbortController();
  const changing = changePods(client, AbortSignal.any([signal, done.signal]));
  progress("a bare page");
  const bare = await ofBarePage(pods, windowMs);
  const browser = await startBrowser();
  try {
    const page = await openTab(browser);
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    progress("first view");
    const openMs = performance.now();
    const firstViewMs = await firstView(page, dashboard.url, FIRST_VIEW);
    yield row("first view", firstViewMs, "ms", FIRST_VIEW_MS);
    yield { name: "… of a bare page", value: bare.firstViewMs, unit: "ms" };
    progress("overview: pods are counted");
    let beforeMs = cpuMs(dashboard.pid);
    await page.getByText("are counted so far").waitFor({ state: "detached" });
    yield { name: "overview: all is counted", value: performance.now() - openMs, unit: "ms" };
    const countingMs = cpuMs(dashboard.pid) - beforeMs;
    yield { name: "… processor time of the server for it", value: countingMs, unit: "ms" };
    progress("overview");
    beforeMs = cpuMs(dashboard.pid);
    const overview = await trafficDuring(session, () => systemClock.sleep(windowMs, signal));
    yield row(
      "overview: to the browser",
      overview.bytesPerSecond / 1024,
      "KB a second",
      TRAFFIC_KB,
    );
    const percent = (): number => (100 * (cpuMs(dashboard.pid) - beforeMs)) / windowMs;
    yield row("overview: processor time of the server", percent(), "% of a core", SERVER_PERCENT);
    progress("list of pods");
    beforeMs = cpuMs(dashboard.pid);
    const listMs = performance.now();
    await page.getByRole("link", { name: "Pod", exact: true }).click();
    await page.locator("section.grid").waitFor();
    yield { name: "list of pods: first rows", value: performance.now() - listMs, unit: "ms" };
    const status = page.getByRole("status").filter({ hasText: " of " });
    await status.filter({ hasNotText: "loading" }).first().waitFor();
    yield { name: "… all known to the server", value: performance.now() - listMs, unit: "ms" };
    const listingMs = cpuMs(dashboard.pid) - beforeMs;
    yield { name: "… processor time of the server for it", value: listingMs, unit: "ms" };
    const frames: number[] = [];
    beforeMs = cpuMs(dashboard.pid);
    const list = await trafficDuring(session, async () => {
      frames.push(...(await scroll(page, PX_PER_FRAME, windowMs)));
    });
    yield row("scrolling: 95 % of frames within", frameMs95(frames), "ms", FRAME_MS);
    yield { name: "… of a bare page", value: bare.frameMs95, unit: "ms" };
    yield row("scrolling: to the browser", list.bytesPerSecond / 1024, "KB a second", TRAFFIC_KB);
    yield row("scrolling: processor time of the server", percent(), "% of a core", SERVER_PERCENT);
    yield row("memory of the tab", await tabMb(await browser.newBrowserCDPSession()), "MB", TAB_MB);
    done.abort();
    const changes = await changing;
    yield { name: "changes in a second meanwhile", value: changes, unit: "/s" };
  } finally {
    done.abort();
    await changing;
    await browser.close();
  }
}

async function startBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
}

async function openTab(browser: Browser): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(120_000);
  return page;
}

/** In a browser of its own, as the dashboard's. */
async function ofBarePage(
  rows: number,
  ms: number,
): Promise<{ readonly firstViewMs: number; readonly frameMs95: number }> {
  using bare = await serveBarePage(rows);
  const browser = await startBrowser();
  try {
    const page = await openTab(browser);
    const firstViewMs = await firstView(page, bare.url, FIRST_VIEW);
    return { firstViewMs, frameMs95: frameMs95(await scroll(page, PX_PER_FRAME, ms)) };
  } finally {
    await browser.close();
  }
}

interface RunningDashboard extends Disposable {
  readonly url: string;
  readonly pid: number;
}

async function startDashboard(kubeconfig: string): Promise<RunningDashboard> {
  const args = ["dashboard", "--kubeconfig", kubeconfig, "--no-browser"];
  const child: ChildProcess = spawn(LAUNCHER, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk;
      const [found] = /https?:\/\/\S+#token=\S+/.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`k8ts dashboard ended with ${code}: ${text}`)));
  });
  return { url, pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill() };
}

/** Changes an annotation of pods until the signal aborts; answers how many in a second. */
async function changePods(client: Client, signal: AbortSignal): Promise<number> {
  const listed = await client.list(podKind, { namespace: "default", limit: 1_000 });
  if (!listed.ok) throw new Error(listed.status.message);
  const names = listed.value.items.map(({ metadata }) => metadata.name ?? "");
  const startMs = performance.now();
  let changes = 0;
  const under = new Set<Promise<unknown>>();
  while (!signal.aborted) {
    const due = Math.floor(((performance.now() - startMs) / 1000) * CHANGES_PER_SECOND) - changes;
    for (let n = 0; n < due && under.size < 64; n++) {
      const key = { namespace: "default", name: names[changes % names.length]! };
      const body = { metadata: { annotations: { "bench.k8ts.io/change": String(changes) } } };
      const patch = client.patch(podKind, key, "merge", body, {});
      under.add(patch);
      void patch.finally(() => under.delete(patch));
      changes += 1;
    }
    await systemClock.sleep(20);
  }
  await Promise.all(under);
  return (changes * 1000) / (performance.now() - startMs);
}

function row(text: string, value: number, unit: string, limit: number): Row {
  return { name: text, value, unit, limit, limitName: `${unit} wanted`, target: 1 };
}
