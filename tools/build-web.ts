/**
 * Builds the dashboard's front end: one entry, and a chunk for each view that is loaded on demand.
 * Every file lies beside its Brotli form. The entry must stay below its limit.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "rolldown";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const COPIED = ["web/index.html", "web/style.css", "web/icon.svg"];
const LIBRARY_STYLES = [
  "node_modules/@xterm/xterm/css/xterm.css",
  "node_modules/uplot/dist/uPlot.min.css",
];
const ENTRY = "main.js";
const PAGE = "index.html";
/** Of what the first view loads, compressed. */
const FIRST_VIEW_BYTES_MAX = 300 * 1024;

export async function buildWeb(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { output } = await build({
    input: { main: `${ROOT}web/main.tsx` },
    platform: "browser",
    tsconfig: `${ROOT}web/tsconfig.json`,
    transform: { target: "es2022" },
    output: {
      dir: folder,
      format: "esm",
      entryFileNames: ENTRY,
      chunkFileNames: "[name]-[hash].js",
      minify: true,
    },
    logLevel: "warn",
  });
  for (const path of [...COPIED, ...LIBRARY_STYLES])
    copyFileSync(`${ROOT}${path}`, join(folder, path.slice(path.lastIndexOf("/") + 1)));
  const needed = importedBy(ENTRY, output);
  preload(join(folder, PAGE), needed);
  for (const name of readdirSync(folder)) {
    if (extname(name) === ".br") continue;
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(readFileSync(join(folder, name))));
  }
  checkFirstView(folder, [ENTRY, ...needed, PAGE, "style.css"]);
}

interface BuiltFile {
  readonly fileName: string;
  readonly imports?: readonly string[];
}

/** What a script imports before it runs, and what that imports. */
function importedBy(entry: string, output: readonly BuiltFile[]): readonly string[] {
  const needed = new Set<string>();
  const need = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    for (const each of output.find(({ fileName }) => fileName === name)?.imports ?? []) need(each);
  };
  need(entry);
  return [...needed].filter((name) => name !== entry);
}

/** The browser asks for them with the entry, not when it has read it. */
function preload(page: string, names: readonly string[]): void {
  const links = names.map((name) => `    <link rel="modulepreload" href="/${name}">\n`);
  const html = readFileSync(page, "utf8");
  const end = html.indexOf("  </head>");
  if (end === -1) throw new Error(`${page} has no head`);
  writeFileSync(page, html.slice(0, end) + links.join("") + html.slice(end));
}

function checkFirstView(folder: string, names: readonly string[]): void {
  let bytes = 0;
  for (const name of names) bytes += readFileSync(join(folder, `${name}.br`)).length;
  if (bytes > FIRST_VIEW_BYTES_MAX)
    throw new Error(
      `the first view of the dashboard has ${bytes} bytes: load more of it on demand`,
    );
}
