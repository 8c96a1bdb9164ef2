/** API servers as processes of the built program on one etcd, which can be killed, frozen and started again. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "#testing/free-ports.ts";
import { askHttps, type HttpsPlace } from "../apiserver/https-ask.ts";
import { type RunningProgram, startProgram } from "../built-program.ts";

const TOKEN = "campaign";
const READY_WITHIN_MS = 60_000;
/** So long a client waits for an answer before it asks another server. */
const ANSWER_WITHIN_MS = 3_000;

export interface ApiServers extends AsyncDisposable {
  readonly places: readonly HttpsPlace[];
  readonly token: string;
  kill(server: number): Promise<void>;
  /** SIGTERM; resolves when the process has ended. */
  end(server: number): Promise<void>;
  start(server: number): Promise<void>;
  freeze(server: number): void;
  thaw(server: number): void;
}

export interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
}

export interface Answer {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
  readonly json: any;
}

export async function startApiServers(
  count: number,
  etcd: readonly string[],
  flags: readonly string[] = [],
): Promise<ApiServers> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-ha-"));
  const tokens = join(directory, "tokens.csv");
  writeFileSync(tokens, `${TOKEN},admin,1,"system:masters"\n`);
  const ports = await freePorts(count);
  const places = ports.map((port, at) => ({ port, directory: join(directory, `s${at}`) }));
  const programs: RunningProgram[] = [];
  const start = async (server: number): Promise<void> => {
    const { port, directory: data } = places[server]!;
    programs[server] = startProgram([
      ...["apiserver", "--etcd-servers", etcd.join(","), "--data-dir", data],
      ...["--secure-port", `${port}`, "--bind-address", "127.0.0.1"],
      ...["--token-auth-file", tokens, ...flags],
    ]);
    await untilReady(places[server]!, programs[server]!);
  };
  for (let server = 0; server < count; server++) {
    if (server > 0) {
      cpSync(join(places[0]!.directory, "pki"), join(places[server]!.directory, "pki"), {
        recursive: true,
      });
    }
    await start(server);
  }
  return {
    places,
    token: TOKEN,
    start,
    end: async (server) => void (await programs[server]?.end("SIGTERM")),
    kill: async (server) => void (await programs[server]?.end("SIGKILL")),
    freeze: (server) => void programs[server]?.child.kill("SIGSTOP"),
    thaw: (server) => void programs[server]?.child.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await Promise.all(programs.map((program) => program.end("SIGKILL")));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Rejects if there is no response in time, or none at all: then the outcome of a write is unknown. */
export async function askServer(place: HttpsPlace, request: Request): Promise<Answer> {
  const giveUp = new AbortController();
  try {
    return await Promise.race([
      askHttps(place, { ...request, token: TOKEN }),
      sleep(ANSWER_WITHIN_MS, undefined, { signal: giveUp.signal }).then(() => {
        throw new Error("no answer in time");
      }),
    ]);
  } finally {
    giveUp.abort();
  }
}

async function untilReady(place: HttpsPlace, program: RunningProgram): Promise<void> {
  const untilMs = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const ready = await askServer(place, { path: "/readyz" }).catch(() => undefined);
    if (ready?.code === 200) return;
    if (performance.now() > untilMs) throw new Error(`never ready: ${program.output()}`);
    await sleep(50);
  }
}
