/**
 * The front end's built files, read once at the start. Names with a hash of the content may be kept
 * by the browser for ever; the page itself is asked for each time.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";

export interface WebFile {
  readonly type: string;
  readonly plain: Buffer;
  /** Compressed with Brotli when it was built. */
  readonly brotli: Buffer | undefined;
  readonly isHashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** By path of the URL, `/index.html` included. */
export function readWebFiles(folder: string): ReadonlyMap<string, WebFile> {
  const names = new Set(readdirSync(folder));
  const files = new Map<string, WebFile>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const brotli = names.has(`${name}.br`) ? readFileSync(join(folder, `${name}.br`)) : undefined;
    const isHashed = /-[\w-]{8}\.\w+$/.test(name);
    files.set(`/${name}`, { type, plain: readFileSync(join(folder, name)), brotli, isHashed });
  }
  if (!files.has("/index.html")) throw new Error(`${folder} has no index.html: build the program`);
  return files;
}
