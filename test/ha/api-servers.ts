/** API servers as processes on one etcd, which can be ended and started again, as the same program or another. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "#testing/free-ports.ts";
import { askHttps, type HttpsPlace } from "../apiserver/https-ask.ts";
import { PROGRAM, type RunningProgram, startCommand } from "../built-program.ts";
import { keyFlags, makeSharedKeys } from "./shared-keys.ts";

const TOKEN = "campaign";
const READY_WITHIN_MS = 60_000;
/** So long a client waits for an answer before it asks another server. */
const ANSWER_WITHIN_MS = 3_000;

/** Which API server is run: ours, built from these or other sources, or upstream's. */
export type ServerProgram =
  | { readonly kind: "k8ts"; readonly file: string }
  | { readonly kind: "kube-apiserver"; readonly file: string };

export interface ApiServers extends AsyncDisposable {
  readonly places: readonly HttpsPlace[];
  readonly token: string;
  /** SIGTERM; resolves when the process has ended. */
  end(server: number): Promise<void>;
  start(server: number, program?: ServerProgram): Promise<void>;
}

const OURS: ServerProgram = { kind: "k8ts", file: PROGRAM };

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: object;
}

interface Answer {
  readonly code: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are of every kind
  readonly json: any;
}

export async function startApiServers(
  count: number,
  etcd: readonly string[],
  flags: readonly string[] = [],
  first = OURS,
): Promise<ApiServers> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-ha-"));
  const tokens = join(directory, "tokens.csv");
  writeFileSync(tokens, `${TOKEN},admin,1,"system:masters"\n`);
  const ports = await freePorts(count);
  const places = ports.map((port, at) => ({ port, directory: join(directory, `s${at}`) }));
  makeSharedKeys(join(directory, "keys"), ["127.0.0.1"], ports[0]!);
  const programs: RunningProgram[] = [];
  const start = async (server: number, program = OURS): Promise<void> => {
    const { port, directory: data } = places[server]!;
    const common = [
      ...["--etcd-servers", etcd.join(","), "--secure-port", `${port}`],
      ...["--bind-address", "127.0.0.1", "--token-auth-file", tokens, ...flags],
    ];
    programs[server] =
      program.kind === "k8ts"
        ? startCommand(process.execPath, [program.file, "apiserver", "--data-dir", data, ...common])
        : startCommand(program.file, [...common, ...upstreamFlags, ...keyFlags(data)]);
    await untilReady(places[server]!, programs[server]!);
  };
  for (const [server, place] of places.entries()) {
    cpSync(join(directory, "keys", "pki"), join(place.directory, "pki"), { recursive: true });
    await start(server, first);
  }
  return {
    places,
    token: TOKEN,
    start,
    end: async (server) => void (await programs[server]?.end("SIGTERM")),
    async [Symbol.asyncDispose]() {
      await Promise.all(programs.map((program) => program.end("SIGKILL")));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What ours has as defaults. kube-apiserver needs an address that is no loopback to advertise. */
const upstreamFlags = [
  ...["--authorization-mode=Node,RBAC", "--advertise-address=192.0.2.1"],
  "--service-cluster-ip-range=10.96.0.0/12",
];

/** Rejects if there is no response in time, or none at all: then the outcome of a write is unknown. */
async function askServer(place: HttpsPlace, request: Request): Promise<Answer> {
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
