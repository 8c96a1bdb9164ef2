/**
 * Builds dist/: `k8ts.js`, a small entry that starts as fast as Node does, and `server.js`, the whole
 * server side in one file, which the entry loads only when a command needs it; `node.js` is the kubelet
 * alone, `proxy.js` the service proxy, `dns.js` the DNS server, `tunnel.js` Konnectivity; `http-thread.js` is what the
 * thread runs that speaks HTTP; `ssh.js` is the library of SSH tunnels, `grpc.js` the gRPC library; `controller.js` and `testing.js` are what other programs import. Beside them lie the descriptions that `kubectl explain` shows, read when someone asks for them.
 * `web/` is the dashboard's front end (`build-web.ts`).
 * Files are made elsewhere and moved, `k8ts.js` last: programs that start from the previous build, and
 * concurrent builds, never find one missing or half written.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import nodeModule from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "rolldown";
import { buildWeb } from "./build-web.ts";
import { DESCRIPTIONS_FILE, writeDescriptions } from "./generate-descriptions.ts";
import { writeGeneratedTypes } from "./generate-types.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };

const dist = `${root}dist/`;
const making = mkdtempSync(`${root}.dist-`); // as deep, so that the source map is right in both
process.on("exit", () => rmSync(making, { recursive: true, force: true }));

/** Those that the launcher gives to Node: compiled code is remembered for the same flags only. */
const NODE_FLAGS = ["--max-semi-space-size=64"];
const READY_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** What the entry loads when a command needs it. */
const LOADED_LATER: Readonly<Record<string, string>> = {
  "#cmd/commands.ts": "./server.js",
  "#cmd/node-commands.ts": "./node.js",
  "#cmd/proxy-commands.ts": "./proxy.js",
  "#cmd/dns-commands.ts": "./dns.js",
  "#cmd/tunnel-commands.ts": "./tunnel.js",
};

const commandsAreOtherFiles: Plugin = {
  name: "commands-are-other-files",
  resolveId: (id) => {
    const file = LOADED_LATER[id];
    return file === undefined ? null : { id: file, external: true };
  },
};

/** The SSH library is loaded only by API servers with SSH tunnels. */
const sshIsAnotherFile: Plugin = {
  name: "ssh-is-another-file",
  resolveId: (id) => (id === "./ssh-client.ts" ? { id: "./ssh.js", external: true } : null),
};

/** The gRPC library is loaded only by tunnels and by kubelets: it would cost every program 4 MB. */
const grpcIsAnotherFile: Plugin = {
  name: "grpc-is-another-file",
  resolveId: (id) =>
    id === "#lib/grpc/grpc-library.ts" ? { id: "./grpc.js", external: true } : null,
};

/** Native parts of the SSH library are optional: it does without them, wherever it was installed. */
const nativeCodeIsLeftOut: Plugin = {
  name: "native-code-is-left-out",
  resolveId: (id) =>
    id === "cpu-features" || id.endsWith(".node") ? { id: `${VIRTUAL}left-out` } : null,
  load: (id) => (id === `${VIRTUAL}left-out` ? 'throw new Error("left out");' : null),
};

/** LMDB stays in node_modules; its one file for `require` is there sooner than the many for `import`. */
const nativeCodeStaysOutside: Plugin = {
  name: "native-code-stays-outside",
  resolveId: (id) => (id === "lmdb" ? { id: `${VIRTUAL}lmdb` } : null),
  load: (id) =>
    id === `${VIRTUAL}lmdb`
      ? 'import { createRequire } from "node:module"; export const { open } = createRequire(import.meta.url)("lmdb");'
      : null,
};

/** Modules of Node that have functions and constants only and that no start needs: Node 26 loads much behind this one. */
const LOADED_ON_USE: ReadonlySet<string> = new Set(["node:zlib"]);

/**
 * An `import` of one of Node's modules reads all its exports, and behind some of them whole libraries
 * are loaded: a client for the web behind one of node:http's. The generated module reads only those
 * that are used. A `require` gets Node's module itself: its exports may be accessors, such as
 * `process.stdout`, which a copy of the exports would have to read.
 */
const builtInsAsTheyAre: Plugin = {
  name: "built-ins-as-they-are",
  resolveId: (id, _importer, { kind }) => {
    const name = LOADED_ON_USE.has(`node:${id}`) ? `node:${id}` : id;
    if (!name.startsWith("node:")) return null;
    return { id: `${VIRTUAL}${kind === "require-call" ? REQUIRED : ""}${name}` };
  },
  load: (id) => {
    const [, required, name] = BUILT_IN.exec(id) ?? [];
    if (name === undefined) return null;
    const module = `process.getBuiltinModule(${JSON.stringify(name)})`;
    const isLater = LOADED_ON_USE.has(name);
    const later = (value: string): string =>
      `/* @__PURE__ */ new Proxy({}, { get: (_, key) => ${value}[key] })`;
    if (required !== undefined) return `module.exports = ${isLater ? later(module) : module};`;
    const builtIn = process.getBuiltinModule(name) ?? {};
    const keys = Object.keys(builtIn).filter((key) => /^\w+$/.test(key));
    if (isLater) {
      const exported = keys.map((key) => {
        const value: unknown = Reflect.get(builtIn, key);
        const isFunction = typeof value === "function" && /^[a-z]/.test(key);
        if (isFunction) return [key, `(...args) => ${module}.${key}(...args)`];
        const isRecord = typeof value === "object" && value !== null;
        const now = `/* @__PURE__ */ (() => ${module}.${key})()`;
        return [key, isRecord ? later(`${module}.${key}`) : now];
      });
      return exported.map(([key, value]) => `export const ${key} = ${value};`).join("\n");
    }
    return [
      `const $all = ${module};`,
      "const $get = (key) => $all[key];",
      "export default $all;",
      // Unused ones are left out of the bundle.
      ...keys.map((key) => `export const ${key} = /* @__PURE__ */ $get("${key}");`),
    ].join("\n");
  },
};

const VIRTUAL = "\0";
const REQUIRED = "required:";
const BUILT_IN = new RegExp(`^${VIRTUAL}(${REQUIRED})?(node:.*)$`);
const ENTRY = "k8ts.js";
const WEB = "web";

/** What people import is left readable: an error in it shows the line, not all of the file. */
const LIBRARIES: ReadonlySet<string> = new Set([
  "cloud.js",
  "controller.js",
  "scheduler.js",
  "testing.js",
]);

async function bundle(input: string, file: string, plugins: Plugin[]): Promise<void> {
  await build({
    input: `${root}${input}`,
    platform: "node",
    plugins: [...plugins, nativeCodeStaysOutside, builtInsAsTheyAre],
    transform: {
      target: "node20.19",
      define: {
        "globalThis.K8TS_VERSION": JSON.stringify(version),
        __dirname: "import.meta.dirname", // of CommonJS packages
      },
    },
    output: {
      file: join(making, file),
      format: "esm",
      codeSplitting: false,
      // One letter beyond Latin-1, and V8 keeps the whole text with two bytes for each.
      charset: "ascii",
      minify: LIBRARIES.has(file) ? false : { compress: true, mangle: false, codegen: true },
      ...(file === ENTRY ? { banner: "#!/usr/bin/env node" } : {}),
      sourcemap: file === "server.js",
    },
    logLevel: "warn",
  });
}

writeGeneratedTypes();
writeDescriptions();
await bundle("src/cmd/commands.ts", "server.js", [sshIsAnotherFile, grpcIsAnotherFile]);
await bundle("src/cmd/node-commands.ts", "node.js", [grpcIsAnotherFile]);
await bundle("src/cmd/proxy-commands.ts", "proxy.js", [grpcIsAnotherFile]);
await bundle("src/cmd/dns-commands.ts", "dns.js", [grpcIsAnotherFile]);
await bundle("src/cmd/tunnel-commands.ts", "tunnel.js", [grpcIsAnotherFile]);
await bundle("src/lib/grpc/grpc-library.ts", "grpc.js", []);
await bundle("src/tunnel/ssh/ssh-client.ts", "ssh.js", [nativeCodeIsLeftOut]);
await bundle("src/apiserver/http-thread/worker.ts", "http-thread.js", []);
await bundle("src/apiserver/request/yaml-worker.ts", "yaml.js", []);
await bundle("src/entries/cloud.ts", "cloud.js", []);
await bundle("src/entries/controller.ts", "controller.js", []);
await bundle("src/entries/scheduler.ts", "scheduler.js", []);
await bundle("src/entries/testing.ts", "testing.js", []);
await bundle("src/cli/main.ts", ENTRY, [commandsAreOtherFiles]);
await buildWeb(join(making, WEB));
chmodSync(join(making, ENTRY), 0o755);
copyFileSync(DESCRIPTIONS_FILE, join(making, "descriptions.gz"));
moveIntoPlace();
await rememberCompiledCode();

/** What this build did not make goes. */
function moveIntoPlace(): void {
  const made = readdirSync(making).toSorted((a, b) => Number(a === ENTRY) - Number(b === ENTRY));
  mkdirSync(dist, { recursive: true });
  for (const file of made) {
    if (file === WEB) moveWebIntoPlace();
    else renameSync(join(making, file), `${dist}${file}`);
  }
  for (const file of readdirSync(dist)) {
    if (!made.includes(file)) rmSync(`${dist}${file}`, { recursive: true, force: true });
  }
}

/** File by file: a folder that is not empty cannot be replaced by another in one step. */
function moveWebIntoPlace(): void {
  const made = readdirSync(join(making, WEB));
  mkdirSync(`${dist}${WEB}`, { recursive: true });
  for (const file of made) renameSync(join(making, WEB, file), `${dist}${WEB}/${file}`);
  for (const file of readdirSync(`${dist}${WEB}`)) {
    if (!made.includes(file)) rmSync(`${dist}${WEB}/${file}`, { force: true });
  }
}

/**
 * The first start after a build would compile everything anew: servers that live for a moment leave
 * behind what the next ones need. One for each set of V8's flags that the program runs with, since
 * what is remembered goes by them. Without it they start all the same, only slower.
 */
async function rememberCompiledCode(): Promise<void> {
  if (!("enableCompileCache" in nodeModule)) return; // an older Node
  await Promise.all([
    startForAMoment(["up", "--foreground", "--no-node", "--port", "0"], "--data"),
    startForAMoment(["apiserver", "--secure-port", "0"], "--data-dir"),
  ]);
}

async function startForAMoment(command: readonly string[], dataFlag: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "k8ts-build-"));
  const args = [...command, dataFlag, data, "--bind-address", "127.0.0.1"];
  const child = spawn(process.execPath, [...NODE_FLAGS, `${root}dist/k8ts.js`, ...args], {
    stdio: "ignore",
    timeout: READY_WITHIN_MS,
  });
  const loaded = setInterval(() => {
    if (!existsSync(join(data, "admin.kubeconfig"))) return;
    clearInterval(loaded); // a second signal would end it before it has written what it compiled
    child.kill();
  }, LOOK_EVERY_MS);
  await once(child, "close");
  clearInterval(loaded);
  rmSync(data, { recursive: true, force: true });
}
