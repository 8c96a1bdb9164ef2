/**
 * A server in a process of its own, for the benchmark: ours on the embedded store, or a bare HTTP/2
 * server that sends bytes it was given. Prints its port as a line of JSON when it is ready.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { hostname } from "node:os";
import { join } from "node:path";
import { createLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/system-clock.ts";
import { parseFlags } from "../../src/cmd/apiserver/flags.ts";
import { runApiServer } from "../../src/cmd/apiserver/run.ts";

const [mode = "", directory = ""] = process.argv.slice(2);
process.on("SIGINT", () => process.exit(0));
const port = mode === "bare" ? await startBare() : await startOurs();
process.stdout.write(`${JSON.stringify({ port })}\n`);

async function startOurs(): Promise<number> {
  mkdirSync(directory, { recursive: true });
  const tokens = join(directory, "tokens.csv");
  writeFileSync(tokens, 'bench,bench,1,"system:masters"\n');
  const flags = parseFlags([
    "--data-dir",
    directory,
    "--secure-port",
    "0",
    "--bind-address",
    "127.0.0.1",
    "--token-auth-file",
    tokens,
    "--disable-admission-plugins",
    "ServiceAccount",
  ]);
  const logger = createLogger({
    level: "warn",
    clock: systemClock,
    format: "json",
    write: (line) => process.stderr.write(line),
  });
  const surroundings = { clock: systemClock, random: systemRandom, logger, hostname: hostname() };
  const server = await runApiServer(flags, surroundings, new AbortController().signal);
  await server.bootstrapped;
  return server.port;
}

/** The paths say what is sent: `/bytes/NAME` a file, `/echo` the body's acknowledgement, `/watch` frames. */
async function startBare(): Promise<number> {
  const files = new Map<string, Buffer>();
  const fileOf = (name: string): Buffer => {
    const known = files.get(name) ?? readFileSync(join(directory, name));
    files.set(name, known);
    return known;
  };
  const watchers = new Set<{ write(bytes: Buffer): unknown }>();
  const pki = join(directory, "pki");
  const server = createSecureServer({
    maxSessionMemory: 1_000,
    key: readFileSync(join(pki, "apiserver.key")),
    cert: readFileSync(join(pki, "apiserver.crt")),
  });
  server.on("stream", (stream, headers) => {
    const [, what = "", name = ""] = (headers[":path"] ?? "").split("/");
    stream.on("error", () => undefined);
    if (what === "watch") {
      stream.respond({ ":status": 200, "content-type": "application/json" });
      watchers.add(stream);
      stream.on("close", () => watchers.delete(stream));
      return;
    }
    const bytes = fileOf(name);
    if (what === "event") {
      stream.respond({ ":status": 201 });
      stream.end();
      for (const watcher of watchers) watcher.write(bytes);
      return;
    }
    stream.respond({
      ":status": 200,
      "content-type": "application/json",
      "content-length": bytes.length,
    });
    stream.end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
