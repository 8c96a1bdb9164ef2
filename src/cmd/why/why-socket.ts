/**
 * Where `k8ts why` asks a cluster on this machine: a socket in its data directory, which only the user
 * of that directory can open.
 */

import { chmodSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join, relative } from "node:path";
import { onAbort } from "#lib/async/aborted.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import { type Deciders, whyPage } from "./decisions.ts";

const TIMEOUT_MS = 10_000;
const CONNECTIONS_MAX = 20;
const ANSWER_BYTES_MAX = 10 * 1024 * 1024;

function socketOf(dataDir: string): string {
  const path = join(dataDir, "why.sock");
  // The name of a socket may have 107 bytes only.
  return path.length < 100 ? path : relative(process.cwd(), path);
}

/** Listens until the signal aborts. */
export async function serveDecisions(
  dataDir: string,
  deciders: Deciders,
  signal: AbortSignal,
): Promise<void> {
  const path = socketOf(dataDir);
  rmSync(path, { force: true });
  await startHttpServer(
    {
      at: { path },
      limits: { connectionsMax: CONNECTIONS_MAX },
      request: ({ url = "/" }, reply) => {
        const text = whyPage(deciders, decodeURIComponent(url));
        reply.writeHead(text === undefined ? 404 : 200, { "content-type": "text/plain" });
        reply.end(text ?? "not found\n");
      },
    },
    signal,
  );
  chmodSync(path, 0o600);
  onAbort(signal, () => rmSync(path, { force: true }));
}

export function askForDecisions(dataDir: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: socketOf(dataDir), path: encodeURI(path), timeout: TIMEOUT_MS },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          if (text.length < ANSWER_BYTES_MAX) text += chunk;
        });
        response.on("end", () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(text.trim()));
        });
      },
    );
    asked.on("timeout", () => asked.destroy(new Error("the cluster does not answer")));
    asked.on("error", reject);
    asked.end();
  });
}
