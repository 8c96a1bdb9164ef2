/** Metrics of the process under the names that every Prometheus client uses. */
import { readdirSync, readFileSync } from "node:fs";
import type { Metrics } from "#lib/metrics.ts";
import { PLAIN_VERSION, VERSION } from "../paths/version-path.ts";

export function addProcessMetrics(metrics: Metrics, startSeconds: number): void {
  const build = metrics.gauge({
    name: "kubernetes_build_info",
    help: "Always 1; the labels say which version this is.",
    labels: Object.keys(BUILD),
  });
  build(...Object.values(BUILD)).set(1);
  const [major = "", minor = ""] = PLAIN_VERSION.split(".");
  metrics
    .gauge({
      name: "version_info",
      help: "Always 1; the labels say which version this is, and which it gets on with.",
      labels: ["binary", "component", "emulation", "min_compat"],
    })(PLAIN_VERSION, "kube", `${major}.${minor}`, `${major}.${Number(minor) - 1}`)
    .set(1);
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf({ name, help }, read);
  const counter = (name: string, help: string, read: () => number): void =>
    metrics.countersOf({ name, help, labels: [] }, () => [{ labels: [], value: read() }]);
  counter("process_cpu_seconds_total", "CPU time that the process has used.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge("process_resident_memory_bytes", "Resident memory of the process.", () =>
    process.memoryUsage.rss(),
  );
  gauge("process_start_time_seconds", "When the process was started.", () => startSeconds);
  gauge(
    "process_virtual_memory_bytes",
    "Virtual memory of the process.",
    () => 1024 * numberIn("/proc/self/status", /^VmSize:\s+(\d+)/m),
  );
  gauge("process_virtual_memory_max_bytes", "How much of it the process may have.", () =>
    limitIn(/^Max address space\s+(\w+)/m),
  );
  gauge("process_max_fds", "How many file descriptors it may open.", () =>
    limitIn(/^Max open files\s+(\w+)/m),
  );
  gauge("process_open_fds", "Open file descriptors.", countDescriptors);
  addRuntimeMetrics(metrics);
  counter("process_network_receive_bytes_total", "Bytes that came over the network.", () =>
    octets("InOctets"),
  );
  counter("process_network_transmit_bytes_total", "Bytes that went over the network.", () =>
    octets("OutOctets"),
  );
}

/**
 * What dashboards read of Go's runtime, as the nearest thing that Node has: a goroutine is something
 * that the event loop waits for, the heap is V8's.
 */
function addRuntimeMetrics(metrics: Metrics): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf({ name: `go_${name}`, help }, read);
  gauge(
    "goroutines",
    "What the event loop waits for: sockets, timers, files, requests.",
    () => process.getActiveResourcesInfo().length,
  );
  gauge("threads", "Threads of the process.", () =>
    numberIn("/proc/self/status", /^Threads:\s+(\d+)/m),
  );
  const memory = (): NodeJS.MemoryUsage => process.memoryUsage();
  gauge("memstats_alloc_bytes", "Memory of objects in use.", () => memory().heapUsed);
  gauge("memstats_heap_alloc_bytes", "The same.", () => memory().heapUsed);
  gauge("memstats_heap_inuse_bytes", "The same.", () => memory().heapUsed);
  gauge("memstats_heap_sys_bytes", "Memory of the heap, used or not.", () => memory().heapTotal);
  gauge("memstats_heap_idle_bytes", "Memory of the heap that is not used.", () => {
    const { heapTotal, heapUsed } = memory();
    return heapTotal - heapUsed;
  });
  gauge("memstats_sys_bytes", "Memory that was taken from the system.", () => memory().rss);
  metrics
    .gauge({ name: "go_info", help: "Always 1; the version of the runtime.", labels: ["version"] })(
      `node${process.version}`,
    )
    .set(1);
}

const BUILD = {
  build_date: VERSION.buildDate,
  compiler: VERSION.compiler,
  git_commit: VERSION.gitCommit,
  git_tree_state: VERSION.gitTreeState,
  git_version: VERSION.gitVersion,
  go_version: VERSION.goVersion,
  major: VERSION.major,
  minor: VERSION.minor,
  platform: VERSION.platform,
};

function limitIn(pattern: RegExp): number {
  const limit = pattern.exec(textOf("/proc/self/limits"))?.[1] ?? "0";
  return limit === "unlimited" ? 2 ** 64 : Number(limit);
}

function countDescriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0; // a system without /proc
  }
}

/** Of the process's network namespace: names in one line, numbers in the next. */
function octets(name: string): number {
  const [names = "", numbers = ""] = textOf("/proc/self/net/netstat")
    .split("\n")
    .filter((line) => line.startsWith("IpExt:"));
  const at = names.split(" ").indexOf(name);
  return at < 0 ? 0 : Number(numbers.split(" ")[at]);
}

function numberIn(file: string, pattern: RegExp): number {
  return Number(pattern.exec(textOf(file))?.[1] ?? 0);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // a system without /proc
  }
}
