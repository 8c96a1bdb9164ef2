/**
 * The entry of the command line. It stays small: `--version` and `--help` must cost little more than
 * starting Node, so everything else is loaded when it is asked for.
 */
import { setMaxListeners } from "node:events";
import nodeModule from "node:module";
import { join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";
import type { Command } from "#cmd/command.ts";
import { backgroundDataDir } from "#cmd/up/background/background-arguments.ts";
import { startInBackground } from "#cmd/up/background/start-in-background.ts";
import { ScriptLoader } from "#lib/script-loader.ts";
import { closestWord } from "#lib/text/closest-word.ts";
import { writeCodeCachesLater } from "./code-caches.ts";
import { COMMANDS } from "./command-summaries.ts";
import { version } from "./version.ts";

const USAGE = `k8ts ${version()}: Kubernetes in TypeScript

Usage: k8ts COMMAND [flags]

Commands:
${Object.entries(COMMANDS)
  .map(([name, summary]) => `  ${name.padEnd(26)}${summary}`)
  .join("\n")}

Examples:
  k8ts up                     run a cluster with a node in the background
  k8ts up --no-node           without a node
  k8ts status --output json   how it does, for a script
  k8ts down --purge           end it and remove every trace

\`k8ts COMMAND --help\` explains a command.
`;

interface CommandsModule {
  readonly commands: readonly Command[];
}

/** Commands that run an API server. */
const SERVERS: ReadonlySet<string> = new Set(["apiserver", "up"]);
/** They rest nearly all of the time. */
const PROGRAMS_OF_NODES: ReadonlySet<string> = new Set(["dns", "kubelet", "proxy"]);
/** Modules of Node that every API server loads at its start. */
const MODULES_OF_SERVERS = ["perf_hooks", "https", "http2", "worker_threads", "fs/promises", "dns"];
const IS_BUILT = !import.meta.url.endsWith(".ts");
/** The folder of compiled code, beside the files of the build. */
const COMPILED = ".compiled";

const NODE_MAJOR = Number.parseInt(process.versions.node, 10);

// One signal ends everything in the process: many listen to it, and that is no leak.
setMaxListeners(0);

// A command has cleaned up when it returns: whatever is still open must not keep the process.
process.exit(await main(process.argv.slice(2)));

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === "--version" || (name === "version" && args.length === 0)) {
    process.stdout.write(`k8ts ${version()} (Kubernetes ${KUBERNETES_VERSION})\n`);
    return 0;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(USAGE);
    return name === undefined ? 1 : 0;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    const meant = closestWord(name, [...Object.keys(COMMANDS), "help"]);
    const hint =
      meant === undefined ? `\n\n${USAGE}` : `, did you mean ${JSON.stringify(meant)}?\n`;
    process.stderr.write(`k8ts: unknown command ${JSON.stringify(name)}${hint}`);
    return 1;
  }
  const backgroundDir = name === "up" ? backgroundDataDir(args) : undefined;
  if (backgroundDir !== undefined) {
    surviveClosedPipes();
    return await startInBackground({ dataDir: backgroundDir, args }, signalOfProcess());
  }
  if (SERVERS.has(name)) loadModulesOfNode();
  if (name === "apiserver") compileEarlier();
  letRequestsDieYoung();
  if (SERVERS.has(name)) collectLargeHeapsSeldom();
  if (name !== "dns") keepCompiledCode();
  if (PROGRAMS_OF_NODES.has(name)) preferLessMemory();
  if (name === "proxy" || name === "dns") leaveCompilersOut();
  if (name === "kubelet") compileLittle();
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const scripts = new ScriptLoader(folder, join(folder, COMPILED));
  const { commands } = await commandsWith(name, scripts);
  const command = commands.find((c) => c.name === name);
  if (command === undefined) throw new Error(`${name} is listed but missing`);
  surviveClosedPipes();
  endOnBugs();
  const signal = signalOfProcess();
  const writeCodeCaches = writeCodeCachesLater(scripts);
  try {
    return await command.run(args, signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return 0; // the signal came before the command had started
    process.stderr.write(`Error: ${explain(error)}\n`);
    return 1;
  } finally {
    writeCodeCaches();
  }
}

/** Programs that run beside others are files of their own, so that each loads what it needs. */
async function commandsWith(name: string, scripts: ScriptLoader): Promise<CommandsModule> {
  if (name === "proxy") return import("#cmd/proxy-commands.ts");
  if (name === "dns") return import("#cmd/dns-commands.ts");
  if (name === "controller-manager") return import("#cmd/manager-commands.ts");
  if (name.startsWith("konnectivity-")) return import("#cmd/tunnel-commands.ts");
  if (name === "kubelet") return import("#cmd/node-commands.ts");
  if (SERVERS.has(name)) {
    if (IS_BUILT) return scripts.load("server.cjs") as CommandsModule;
    return import("#cmd/server-commands.ts");
  }
  return import("#cmd/commands.ts");
}

/** A bug that nothing catches ends the process. Node would also print the line of the bundle: 20 kB. */
function endOnBugs(): void {
  process.on("uncaughtException", (error) => {
    const stack = error instanceof Error ? error.stack : undefined;
    process.stderr.write(`k8ts: internal error: ${stack ?? String(error)}\n`);
    process.exit(70);
  });
}

/** Expected errors (a flag, a port, a disk, a store) are printed as one line; bugs with their stack. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];
  const isBug = bugs.some((kind) => error instanceof kind) && !("code" in error);
  return isBug ? (error.stack ?? error.message) : error.message;
}

/**
 * Node has a code cache of its own modules, which V8 rejects once one of its flags was changed: they are
 * loaded before. Compiling them anew takes 25 ms.
 */
function loadModulesOfNode(): void {
  for (const name of MODULES_OF_SERVERS) process.getBuiltinModule(name);
}

/**
 * A request runs through hundreds of functions, most of them once: by V8's own counts (400 and 3,000
 * calls) a server is slow for its first ten thousand requests. Before any code is loaded, since the
 * remembered outcome of compiling goes by these flags. Older Nodes do not know them.
 *
 * Not where controllers run: there is so much code that compiling it early takes as long as the work,
 * and much of it twice. A Deployment's first thousand pods came at 900 a second instead of 1,350.
 */
function compileEarlier(): void {
  if (NODE_MAJOR < 24) return;
  setFlagsFromString("--invocation-count-for-maglev=100");
  setFlagsFromString("--invocation-count-for-turbofan=500");
}

/**
 * V8 notes where objects are made that live long, and has them made old from then on. While a server
 * is new and its young generation small, that is true of all that a request is made of: from then on
 * each leaves behind 7 KB, and whatever that refers to, until the whole heap is collected.
 */
function letRequestsDieYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/**
 * V8 begins to mark the heap after every 64 MB of new buffers, and marks for 25 ms with each further one until
 * it is done: with 50,000 pods every four seconds, for half a second. Here buffers count as part of
 * the heap, which is collected when both have grown by 35 % (small ones when they have by some megabytes more).
 */
function collectLargeHeapsSeldom(): void {
  if (NODE_MAJOR < 26) return; // older ones do not know the first of them
  setFlagsFromString("--external-memory-accounted-in-global-limit");
  setFlagsFromString("--heap-growing-percent=35");
}

/** Garbage of the start is not kept for speed. */
function preferLessMemory(): void {
  setFlagsFromString("--optimize-for-size");
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * The service proxy does without the optimizing compilers. They take 16 MB (8 of them are code of Node
 * that nothing else touches) and save no processor time: 5,000 Services are written before they have
 * compiled anything. In a DNS server they take 9 MB; it answers
 * 54,000 to 70,000 repeated queries in a second of processor time without them, and 26,000 others.
 */
function leaveCompilersOut(): void {
  setFlagsFromString("--no-opt");
  if (NODE_MAJOR >= 22) setFlagsFromString("--no-maglev");
}

/**
 * A kubelet does without the optimizing compilers, which take 9 MB. The processor time of 30 pods that come
 * and go is the same, and logs are read as fast, since a loop of WebAssembly does the work
 * (src/kubelet/server/log/line-mover.ts). The larger compiler is left out there too: it would also run after
 * 1,000 calls from JavaScript, for the function that passes the arguments on, and leave 3 MB behind.
 */
function compileLittle(): void {
  if (NODE_MAJOR < 22) setFlagsFromString("--interrupt-budget=8000000"); // it has the larger one only
  if (NODE_MAJOR < 24) return;
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-maglev");
  setFlagsFromString("--no-wasm-tier-up");
  setFlagsFromString("--no-wasm-dynamic-tiering");
  if (NODE_MAJOR >= 26) setFlagsFromString("--wasm-wrapper-tiering-budget=2000000000");
}

/**
 * Compiling the server side is a third of its start: newer Nodes remember the outcome. They keep what was
 * read: 0.4 MB of a DNS server, whose start it does not shorten.
 */
function keepCompiledCode(): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  enableCompileCache?.(fileURLToPath(new URL(COMPILED, import.meta.url)));
}

/** A closed pipe on stdout or stderr, as with `head`, does not end the process. */
function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/**
 * Aborts at the first SIGINT or SIGTERM; a second one ends the process at once. SIGHUP, which a
 * terminal sends when it is closed, is the same as SIGTERM where there is a terminal, and ignored where
 * there is none: Node undoes what `nohup` asks the system for, but `nohup` also takes the terminal away.
 */
function signalOfProcess(): AbortSignal {
  const controller = new AbortController();
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on("SIGHUP", () => {
    if (hasTerminal) controller.abort(new Error("SIGHUP"));
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      controller.abort(new Error(signal));
      process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));
    });
  }
  return controller.signal;
}
