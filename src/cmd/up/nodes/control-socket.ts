/**
 * How commands such as `k8ts node add` reach the process that runs the cluster: one JSON document each way
 * over a unix socket that only root can open. Its path follows from the data directory.
 */

import { createHash } from "node:crypto";
import { chmod, mkdir, rm } from "node:fs/promises";
import { request } from "node:http";
import { dirname } from "node:path";
import { codeOf, messageOf } from "#lib/caught.ts";
import { type HttpServerOptions, startHttpServer } from "#lib/http/start-http-server.ts";

const BODY_BYTES_MAX = 64 << 10;

export type ControlAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

export function controlSocket(dataDir: string): string {
  const id = createHash("sha256").update(dataDir).digest("hex").slice(0, 12);
  return `/run/k8ts/${id}.sock`;
}

/** Serves until the signal aborts; then the socket is gone. */
export async function serveControl(
  path: string,
  answer: (question: unknown) => Promise<ControlAnswer>,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const handle: HttpServerOptions["request"] = (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > BODY_BYTES_MAX) incoming.destroy();
      else chunks.push(chunk);
    });
    incoming.on("end", () => {
      const reply = (body: ControlAnswer): void => void outgoing.end(JSON.stringify(body));
      Promise.resolve()
        .then(() => answer(JSON.parse(Buffer.concat(chunks).toString()) as unknown))
        .then(reply, (error: unknown) => reply({ ok: false, message: messageOf(error) }));
    });
  };
  await startHttpServer({ at: { path }, request: handle }, signal);
  await chmod(path, 0o600);
}

/** Undefined if no cluster with nodes runs there. */
export function askControl(
  path: string,
  question: unknown,
  signal: AbortSignal,
): Promise<ControlAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { socketPath: path, method: "POST", path: "/", signal },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve(JSON.parse(Buffer.concat(chunks).toString()) as ControlAnswer),
        );
      },
    );
    outgoing.on("error", (error) => {
      const isAbsent = ["ENOENT", "ECONNREFUSED"].includes(codeOf(error) ?? "");
      if (isAbsent) resolve(undefined);
      else reject(error);
    });
    outgoing.end(JSON.stringify(question));
  });
}
