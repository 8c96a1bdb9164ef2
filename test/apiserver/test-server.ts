/**
 * An API server on a real port in this process, as the tests of this folder need it: on a data
 * directory of its own, so that it can be restarted on what it wrote, and with the controllers if a
 * test wants them. Nodes are played by `readyPods`, which says of every pod that it runs.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { type ApiServerFlags, parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { type RunningApiServer, runApiServer } from "#cmd/apiserver/run.ts";
import { runControllers } from "#cmd/controller-manager/run-controllers.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import { codeOf } from "#lib/caught.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { ResourceSet } from "#runtime/resource-set.ts";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const SURROUNDINGS = {
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  hostname: "test",
  httpThread: true,
};

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  readonly directory: string;
  readonly kubeconfig: string;
  /** In this process, as an administrator. */
  readonly client: Client;
  /** Ends the server, waits as long as `meanwhile` takes, starts it on the same data and port. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
}

export interface TestServerOptions {
  readonly controllers?: boolean;
  /** Lines of a token file. */
  readonly tokens?: string;
  readonly flags?: readonly string[];
  /** Whose keys it has, too: servers of one cluster share them. */
  readonly keysOf?: TestServer;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-apiserver-"));
  if (options.keysOf !== undefined) {
    cpSync(join(options.keysOf.directory, "pki"), join(directory, "pki"), { recursive: true });
  }
  const tokenFile = join(directory, "tokens.csv");
  if (options.tokens !== undefined) writeFileSync(tokenFile, options.tokens);
  const flagsOn = (port: number): ApiServerFlags =>
    parseFlags([
      ...["--data-dir", directory, "--secure-port", `${port}`, "--bind-address", "127.0.0.1"],
      ...(options.tokens === undefined ? [] : ["--token-auth-file", tokenFile]),
      ...(options.flags ?? []),
    ]);
  let server: RunningApiServer;
  let life: AbortController;
  let loops: Promise<unknown>;
  const start = async (port: number): Promise<void> => {
    life = new AbortController();
    server = await listening(flagsOn(port));
    await server.bootstrapped;
    loops =
      options.controllers === true
        ? Promise.all([control(server, life.signal), readyPods(server, life.signal)])
        : Promise.resolve();
  };
  const stop = async (): Promise<void> => {
    life.abort();
    await loops;
    await server.close(1_000);
  };
  await start(0);
  const { port } = server!;
  return {
    port,
    directory,
    kubeconfig: join(directory, "admin.kubeconfig"),
    get client() {
      return clientOf(server);
    },
    restart: async (meanwhile) => {
      await stop();
      await meanwhile?.();
      await start(port);
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A port that was given up for a moment may be a client's until its connection ends. */
async function listening(flags: ApiServerFlags): Promise<RunningApiServer> {
  for (let tries = 1; ; tries++) {
    try {
      return await runApiServer(flags, SURROUNDINGS, new AbortController().signal);
    } catch (error) {
      if (codeOf(error) !== "EADDRINUSE" || tries === LISTEN_TRIES) throw error;
      await systemClock.sleep(LISTEN_PAUSE_MS);
    }
  }
}

const LISTEN_TRIES = 50;
const LISTEN_PAUSE_MS = 100;

function clientOf({ api }: RunningApiServer): Client {
  const transport = inProcessTransport(api.handle, ADMIN, "test");
  const { clock, random } = SURROUNDINGS;
  return new Client({ transport, clock, random, fieldManager: "test" });
}

async function control(server: RunningApiServer, signal: AbortSignal): Promise<void> {
  const { clock, random, logger } = SURROUNDINGS;
  const resources = new ResourceSet();
  const rootCa = server.keys.authorities().clientCaPem!;
  await runControllers(
    {
      controllers: builtInControllers({ rootCa, resources }),
      resources,
      collectGarbage: true,
      client: clientOf(server).as("kube-controller-manager"),
      clock,
      random,
      logger,
      metrics: new Metrics(),
    },
    signal,
  );
}

/** Says of every new pod that it runs and is ready, and lets it go when it is deleted. */
async function readyPods(server: RunningApiServer, signal: AbortSignal): Promise<void> {
  const client = clientOf(server);
  const pending = new Set<Promise<unknown>>();
  const spawn = (work: Promise<unknown>): void => {
    pending.add(work);
    void work.finally(() => pending.delete(work));
  };
  server.api.objects.onChange(
    podKind,
    (pod) => {
      if (pod === undefined || signal.aborted) return;
      const { namespace, name, deletionTimestamp } = pod.metadata;
      const key = { namespace: namespace!, name: name! };
      if (deletionTimestamp !== undefined) {
        spawn(client.delete(podKind, key, { gracePeriodSeconds: 0 }));
      } else if (pod.status?.phase !== "Running") {
        const now = new Date(systemClock.nowMs()).toISOString().replace(/\.\d+/, "");
        const ready = { type: "Ready", status: "True", lastTransitionTime: now };
        const status = { phase: "Running", podIP: "10.0.0.1", conditions: [ready] };
        spawn(client.patch(podKind, key, "merge", { status }, { subresource: "status" }));
      }
    },
    signal,
  );
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  await Promise.allSettled(pending);
}
