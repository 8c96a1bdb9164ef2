/**
 * The data plane for heavy traffic: Debian's nginx with its Lua module. nginx answers what only needs an
 * endpoint; everything else goes to the built-in data plane on loopback, which knows the whole table.
 *
 * Promises:
 * 1. Routes, endpoints and certificates change without a reload: no worker ends, no connection is dropped.
 * 2. nginx ends with this process, whatever ends it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { onAbort } from "#lib/async/aborted.ts";
import { runEvery } from "#lib/async/sleep.ts";
import type { CertificatePair } from "../data-plane/certificates.ts";
import type { TrafficState } from "../data-plane/data-plane.ts";
import type { IngressMetrics } from "../data-plane/ingress-metrics.ts";
import {
  type DataPlaneOptions,
  type RunningDataPlane,
  startDataPlane,
} from "../data-plane/start-data-plane.ts";
import { nginxConfig } from "./nginx-config.ts";
import { nginxRoutes } from "./nginx-routes.ts";

export interface NginxPlaneOptions extends Omit<DataPlaneOptions, "state"> {
  readonly state: TrafficState & {
    /** By host. */
    certificatePairs(): Readonly<Record<string, CertificatePair>>;
  };
  readonly accessLog: boolean;
  readonly workers?: number;
}

const NEEDED = [
  ["/usr/sbin/nginx", "nginx-light"],
  ["/usr/lib/nginx/modules/ngx_http_lua_module.so", "libnginx-mod-http-lua"],
  ["/usr/share/lua/5.1/resty/core.lua", "lua-resty-core"],
] as const;
const LOOPBACK = "127.0.0.1";
const START_WITHIN_MS = 10_000;
const RETRY_MS = 50;
const COUNT_EVERY_MS = 10_000;

/** Rejects with what has to be installed if something is missing. */
export async function startNginxPlane(
  options: NginxPlaneOptions,
  signal: AbortSignal,
): Promise<RunningDataPlane> {
  const missing = NEEDED.filter(([path]) => !existsSync(path)).map(([, name]) => name);
  if (missing.length > 0)
    throw new Error(
      `the data plane nginx is not complete: apt-get install ${missing.join(" ")} lua-cjson`,
    );
  const dir = mkdtempSync(join(tmpdir(), "k8ts-nginx-"));
  const httpPort = await portOf(options.httpPort, options.addresses);
  const httpsPort = await portOf(options.httpsPort, options.addresses);
  const publicPorts = options.publicPorts ?? { http: httpPort, https: httpsPort };
  const builtIn = await startDataPlane(
    {
      ...options,
      ...{ addresses: [LOOPBACK], httpPort: 0, httpsPort: 0, publicPorts, isFronted: true },
    },
    signal,
  );
  const { cert, key } = options.defaultCertificate;
  writeFileSync(join(dir, "default.crt"), cert);
  writeFileSync(join(dir, "default.key"), key, { mode: 0o600 });
  const config = nginxConfig({
    ...{ dir, httpPort, httpsPort, publicPorts, builtIn, accessLog: options.accessLog },
    ...{ addresses: options.addresses, drainMs: options.drainMs },
    connectionsMax: options.limits.connectionsMax,
    workers: options.workers ?? availableParallelism(),
  });
  const file = join(dir, "nginx.conf");
  writeFileSync(file, config);
  const nginx = start(dir, file);
  const ended = new Promise<number | null>((resolve) => nginx.once("exit", resolve));
  const done = end(nginx, ended, options, signal).then(async () => {
    await builtIn.done;
    rmSync(dir, { recursive: true, force: true });
  });
  const control = new Control(join(dir, "control.sock"));
  const update = async (): Promise<void> => {
    const { state } = options;
    const routes = nginxRoutes(state.table(), (backend) => state.endpoints(backend).addresses);
    await control.send("certs", JSON.stringify(state.certificatePairs()));
    await control.send("routes", JSON.stringify(routes));
  };
  await untilListening(update, ended, options, signal);
  const count = async (): Promise<void> => addCounts(options.metrics, await control.takeCounts());
  void runEvery(options.clock, COUNT_EVERY_MS, () => count().catch(() => undefined), signal);
  return { httpPort, httpsPort, retain: builtIn.retain, update, count, done };
}

/** With the parent's end as its own: an nginx without a controller would serve what was true once. */
function start(dir: string, file: string): ChildProcess {
  mkdirSync(dir, { recursive: true });
  const command = ["--pdeathsig", "TERM", "/usr/sbin/nginx", "-p", dir, "-c", file, "-e", "stderr"];
  return spawn("/usr/bin/setpriv", command, { stdio: ["ignore", "inherit", "inherit"] });
}

async function end(
  nginx: ChildProcess,
  ended: Promise<number | null>,
  { clock, drainMs }: NginxPlaneOptions,
  signal: AbortSignal,
): Promise<void> {
  onAbort(signal, () => {
    nginx.kill("SIGQUIT"); // requests that are open are finished
    void clock.sleep(drainMs).then(() => nginx.kill("SIGTERM"));
  });
  const code = await ended;
  if (!signal.aborted) throw new Error(`nginx has ended with ${code}`);
}

async function untilListening(
  update: () => Promise<void>,
  ended: Promise<number | null>,
  { clock }: NginxPlaneOptions,
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.elapsedMs() + START_WITHIN_MS;
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  for (;;) {
    try {
      return await update();
    } catch (error) {
      if (isOver || signal.aborted || clock.elapsedMs() > endMs) throw error;
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

/** Keys are namespace, Ingress, Service and status. */
function addCounts({ requests }: IngressMetrics, counts: Readonly<Record<string, number>>): void {
  for (const [key, count] of Object.entries(counts)) {
    const [namespace = "", ingress = "", service = "", code = ""] = key.split(" ");
    requests(namespace, ingress, service, code).add(count);
  }
}

/** Sends what has changed; the same text is not sent twice. */
class Control {
  readonly #socketPath: string;
  readonly #sent = new Map<string, string>();

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async send(name: "routes" | "certs", text: string): Promise<void> {
    if (this.#sent.get(name) === text) return;
    await this.#ask("POST", name, text);
    this.#sent.set(name, text);
  }

  /** Requests since the last call. */
  async takeCounts(): Promise<Readonly<Record<string, number>>> {
    return JSON.parse(await this.#ask("GET", "counts", ""));
  }

  #ask(method: string, name: string, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { socketPath: this.#socketPath, path: `/${name}`, method };
      const asked = request(options, (answer) => {
        let body = "";
        answer.on("data", (chunk) => {
          body += chunk;
        });
        answer.once("error", reject);
        answer.once("end", () => {
          if (answer.statusCode === 200) resolve(body);
          else reject(new Error(`nginx answers ${answer.statusCode} to ${name}: ${body}`));
        });
      });
      asked.once("error", reject);
      asked.end(text);
    });
  }
}

/** A free port in place of 0: the configuration of nginx must name one. */
async function portOf(wanted: number, [address]: readonly string[]): Promise<number> {
  if (wanted !== 0) return wanted;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
  const place = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (place === null || typeof place === "string") throw new Error("no port is free");
  return place.port;
}
