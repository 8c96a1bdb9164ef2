/**
 * Builds dist/: `k8ts.js`, a small entry that starts as fast as Node does, and `server.js`, the whole
 * server side in one file, which the entry loads only when a command needs it; `edge.js` is what the
 * thread runs that speaks HTTP. Beside them lie the descriptions that `kubectl explain` shows, read when someone asks for them.
 */
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "rolldown";
import { DESCRIPTIONS_FILE, writeDescriptions } from "./generate-descriptions.ts";
import { writeGeneratedTypes } from "./generate-types.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };

/** Native code and what it loads by itself stays in node_modules. */
const EXTERNAL = ["lmdb"];

const serverSideIsAnotherFile: Plugin = {
  name: "server-side-is-another-file",
  resolveId: (id) => (id === "#cmd/commands.ts" ? { id: "./server.js", external: true } : null),
};

async function bundle(input: string, file: string, plugins: Plugin[]): Promise<void> {
  await build({
    input: `${root}${input}`,
    platform: "node",
    external: EXTERNAL,
    plugins,
    transform: {
      target: "node20.19",
      define: { "globalThis.K8TS_VERSION": JSON.stringify(version) },
    },
    output: {
      file: `${root}dist/${file}`,
      format: "esm",
      codeSplitting: false,
      minify: { compress: true, mangle: false, codegen: true },
      sourcemap: file === "server.js",
    },
    logLevel: "warn",
  });
}

rmSync(`${root}dist`, { recursive: true, force: true });
writeGeneratedTypes();
writeDescriptions();
await bundle("src/cmd/commands.ts", "server.js", []);
await bundle("src/apiserver/edge/worker.ts", "edge.js", []);
await bundle("src/entries/controller.ts", "controller.js", []);
await bundle("src/cli/main.ts", "k8ts.js", [serverSideIsAnotherFile]);
copyFileSync(DESCRIPTIONS_FILE, `${root}dist/descriptions.json.gz`);
