/**
 * The built-in data plane of the Ingress controller beside Debian's nginx, both with one process for the
 * same route to the same endpoint, asked by the same client (wrk) in turns. The figure is requests for each
 * second of processor time that the proxy used, so that other work of the machine does not count.
 */
import { type ChildProcess, execFile, fork, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "#testing/free-ports.ts";
import { missingProgram } from "../tools/debian-packages.ts";
import type { BenchOptions, Row } from "./row.ts";

const CONNECTIONS = 64;
/** The kernel counts processor time in these. */
const TICKS_PER_SECOND = 100;
const execute = promisify(execFile);

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  for (const program of ["nginx", "wrk"] as const) {
    const missing = missingProgram(program);
    if (missing !== undefined) throw new Error(missing);
  }
  const names = ["built-in"];
  const withoutModules = missingProgram("/usr/share/lua/5.1/resty/core.lua");
  if (withoutModules === undefined) names.push("nginx data plane");
  else process.stderr.write(`nginx data plane is not measured: ${withoutModules}\n`);
  const dir = mkdtempSync(join(tmpdir(), "k8ts-bench-ingress-"));
  const children: ChildProcess[] = [];
  try {
    const endpointPort = await freePort();
    const nginxPort = await freePort();
    const locate = { endpointPort, nginxPort };
    children.push(startNginx(dir, "endpoint", endpointConfig(locate)));
    children.push(startNginx(dir, "proxy", proxyConfig(locate)));
    const planes = [];
    for (const name of names) {
      const own = fork(fileURLToPath(new URL("ingress/data-plane.ts", import.meta.url)), [
        ...[String(endpointPort), name.split(" ")[0]!],
      ]);
      children.push(own);
      const port = await new Promise<number>((resolve) => {
        own.once("message", (given) => resolve(Number(given)));
      });
      planes.push({ name, port, pid: own.pid! });
    }
    const seconds = quick ? 3 : 8;
    const proxies = [{ name: "nginx", port: nginxPort, pid: children[1]!.pid! }, ...planes];
    const best = new Map<string, number>();
    for (let round = 0; round < 3; round++) {
      for (const { name, port, pid } of proxies) {
        progress(`${name}, round ${round + 1}`);
        const value = await perProcessorSecond(port, pid, seconds);
        best.set(name, Math.max(best.get(name) ?? 0, value));
      }
    }
    for (const { name } of planes) {
      yield {
        name: `${name}: HTTP/1.1 requests for each processor second, 200 bytes`,
        value: Math.round(best.get(name) ?? 0),
        unit: "/s",
        limit: Math.round(best.get("nginx") ?? 0),
        limitName: "nginx alone, one worker",
      };
    }
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
}

async function perProcessorSecond(port: number, pid: number, seconds: number): Promise<number> {
  const before = processorSeconds(pid);
  const args = ["-t1", `-c${CONNECTIONS}`, `-d${seconds}`, "-H", "Host: bench.test"];
  const { stdout } = await execute("wrk", [...args, `http://127.0.0.1:${port}/`]);
  const used = processorSeconds(pid) - before;
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`requests failed: ${stdout}`);
  return Number(/(\d+) requests in/.exec(stdout)?.[1]) / used;
}

/** Of the process and all that it started. */
function processorSeconds(pid: number): number {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? []);
  const family = new Set([pid]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const one of stats) if (family.has(one.parent)) family.add(one.pid);
  }
  return stats.reduce((sum, one) => sum + (family.has(one.pid) ? one.seconds : 0), 0);
}

/** Undefined if it has ended. */
function statOf(pid: number) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    return { pid, parent: Number(fields[1]), seconds };
  } catch {
    return undefined;
  }
}

/** Without a master process: one process that does all. */
function startNginx(dir: string, name: string, http: string): ChildProcess {
  const file = join(dir, `${name}.conf`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (each) => `${each}_temp_path ${dir}/${name}-${each};`,
  );
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${dir}/${name}.pid; error_log stderr;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000; ${temporary.join(" ")}\n${http}\n}\n`,
  );
  return spawn("nginx", ["-c", file, "-p", dir], { stdio: ["ignore", "ignore", "inherit"] });
}

interface Ports {
  readonly endpointPort: number;
  readonly nginxPort: number;
}

function endpointConfig({ endpointPort }: Ports): string {
  return `server { listen 127.0.0.1:${endpointPort}; location / { return 200 "${"x".repeat(200)}"; } }`;
}

/** What ingress-nginx writes for such a route. */
function proxyConfig({ endpointPort, nginxPort }: Ports): string {
  return `upstream web { server 127.0.0.1:${endpointPort}; keepalive 320; keepalive_requests 1000000000; }
server { listen 127.0.0.1:${nginxPort}; server_name bench.test;
  location / {
    proxy_pass http://web; proxy_http_version 1.1; proxy_set_header Connection "";
    proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Host $host;
    proxy_set_header X-Forwarded-Port $server_port; proxy_set_header X-Forwarded-Proto $scheme;
  } }`;
}
