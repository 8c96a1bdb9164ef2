/** The body of a request, whichever protocol brings it. */
import type { Readable } from "node:stream";
import { CLIENT_GONE } from "#lib/http/client-disconnect.ts";
import { BODY_BYTES_MAX, type HttpRequest } from "./exchange.ts";

/** Node's streams buffer so much before anything is read. */
const SMALL_BYTES_MAX = 16 * 1024;

/** Reading it before its sender is known makes the server hold no more than it would anyway. */
export function hasSmallBody({ headers }: Pick<HttpRequest, "headers">): boolean {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return length <= SMALL_BYTES_MAX && headers.expect === undefined;
}

/**
 * A body that is too long is read to its end, so that the client receives the 413, but not kept; one
 * that does not end is cut off.
 */
export function readBody(source: Readable, announced: number): Promise<Uint8Array | undefined> {
  if (announced === 0) return Promise.resolve(NO_BYTES);
  let chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    source.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
      else chunks = [];
      if (length > BODY_BYTES_MAX * 2) resolve(undefined);
    });
    source.on("end", () => {
      if (length > BODY_BYTES_MAX) resolve(undefined);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
    });
    source.on("error", reject);
    source.on("close", () => reject(CLIENT_GONE)); // says nothing new after the end
  });
}

const NO_BYTES = new Uint8Array(0);
