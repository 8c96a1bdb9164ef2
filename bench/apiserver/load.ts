/** HTTP/2 clients that keep a server busy and count what it answers. */
import { type ClientHttp2Session, connect } from "node:http2";

export class Connections implements Disposable {
  readonly sessions: readonly ClientHttp2Session[];

  constructor(port: number, count: number) {
    this.sessions = Array.from({ length: count }, () => {
      const session = connect(`https://127.0.0.1:${port}`, {
        rejectUnauthorized: false,
        maxSessionMemory: 1_000,
      });
      session.on("error", () => undefined);
      return session;
    });
  }

  /** Asks on every connection, one request after the other, for a while. Answers requests a second. */
  async rate(windowMs: number, next: (connection: number, n: number) => Ask): Promise<number> {
    const endMs = performance.now() + windowMs;
    const startMs = performance.now();
    let count = 0;
    await Promise.all(
      this.sessions.map(async (session, connection) => {
        for (let n = 0; performance.now() < endMs; n++) {
          await ask(session, next(connection, n));
          count += 1;
        }
      }),
    );
    return count / ((performance.now() - startMs) / 1000);
  }

  [Symbol.dispose](): void {
    for (const session of this.sessions) session.destroy();
  }
}

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly body?: Buffer | string;
  readonly contentType?: string;
}

/** The bytes of the answer; fails unless it is a success. */
export function ask(
  session: ClientHttp2Session,
  { method, path, body, contentType }: Ask,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": method ?? "GET",
      ":path": path,
      authorization: "Bearer bench",
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    });
    let status = 0;
    const chunks: Buffer[] = [];
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => {
      if (status < 300) resolve(Buffer.concat(chunks));
      else reject(new Error(`${method} ${path}: ${status} ${Buffer.concat(chunks)}`));
    });
    stream.on("error", reject);
    stream.end(body);
  });
}
