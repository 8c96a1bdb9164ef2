/** What two servers on one etcd are asked, and what came of it. */
import type { Requester } from "../load/load.ts";
import type { ServerProcess } from "../load/server-processes.ts";

export interface Pair {
  readonly ours: ServerProcess;
  readonly theirs: ServerProcess;
}

export interface Compared {
  readonly what: string;
  /** How many comparisons were made. */
  readonly count: number;
  /** One line for each that failed. */
  readonly differences: readonly string[];
}

export type Compare = (
  pair: Pair,
  progress: (text: string) => void,
) => AsyncIterable<Compared> | Iterable<Compared>;

/** Rejects with the server's answer if it is no success. */
/** The answer is taken for a `T`, as its path says. */
export async function askJson<T extends object = Record<string, unknown>>(
  asker: Requester,
  method: string,
  path: string,
  body?: object,
  contentType = "application/json",
): Promise<T> {
  const sent = body === undefined ? {} : { contentType, body: JSON.stringify(body) };
  const answer = await asker.ask({ method, path, keep: true, ...sent });
  return JSON.parse(unchunked(answer)) as T;
}

/** kube-apiserver sends some answers in chunks. */
function unchunked(answer: Buffer): string {
  if (answer[0] === "{".charCodeAt(0)) return answer.toString();
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = answer.indexOf("\r\n", at);
    const length = Number.parseInt(answer.toString("latin1", at, end), 16);
    if (!(length > 0)) return Buffer.concat(parts).toString();
    parts.push(answer.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
