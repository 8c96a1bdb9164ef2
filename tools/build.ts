/**
 * Builds dist/: `k8ts.js`, a small entry that starts as fast as Node does and loads the others when a
 * command needs them; `server.cjs`, the API server and what starts a cluster; `*-component.cjs`, the
 * other components of a cluster, loaded when they start, and `components.cjs`, what several of them need
 * (scripts for `src/lib/script-loader.ts`); `commands.js`, all commands; `node.js`, the kubelet
 * alone, `proxy.js`, the service proxy, `dns.js`, the DNS server, with `dns-manifest.js` and `re2.js`, which it loads on demand, `manager.js`, the controller manager, `tunnel.js`,
 * Konnectivity; `http-thread.js`, what the thread runs that speaks HTTP; `ssh.js`, the library of SSH
 * tunnels, `grpc.js`, the gRPC library; `controller.js`, `testing.js` and others, what other programs import. Beside them lie the
 * descriptions that `kubectl explain` shows, read when someone asks for them.
 * `web/` is the dashboard's front end (`build-web.ts`).
 * Files are made elsewhere and moved, `k8ts.js` last: programs that start from the previous build, and
 * concurrent builds, never find one missing or half written.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, parse } from "node:path";
import { fileURLToPath } from "node:url";
import {
  build,
  type CodeSplittingGroup,
  type ModuleInfo,
  type OutputOptions,
  type Plugin,
  RUNTIME_MODULE_ID,
} from "rolldown";
import { SCRIPT_HEAD, SCRIPT_SUFFIX, SOURCE_HASH } from "../src/lib/script-loader.ts";
import { buildWeb } from "./build-web.ts";
import { DESCRIPTIONS_FILE, writeDescriptions } from "./generate-descriptions.ts";
import { writeGeneratedTypes } from "./generate-types.ts";
import { rememberCompiledCode } from "./remember-compiled-code.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };

const dist = `${root}dist/`;
const making = mkdtempSync(`${root}.dist-`); // as deep, so that the source map is right in both
process.on("exit", () => rmSync(making, { recursive: true, force: true }));

/** What the entry loads when a command needs it. */
const LOADED_LATER: Readonly<Record<string, string>> = {
  "#cmd/commands.ts": "./commands.js",
  "#cmd/server-commands.ts": "./server.cjs",
  "#cmd/node-commands.ts": "./node.js",
  "#cmd/proxy-commands.ts": "./proxy.js",
  "#cmd/dns-commands.ts": "./dns.js",
  "#cmd/manager-commands.ts": "./manager.js",
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

/** What prints the manifest of the DNS server: the server itself does not load it. */
const dnsManifestIsAnotherFile: Plugin = {
  name: "dns-manifest-is-another-file",
  resolveId: (id) =>
    id === "./print-dns-manifest.ts" ? { id: "./dns-manifest.js", external: true } : null,
};

/** The library of Go's regular expressions is loaded when a Corefile has one. */
const regularExpressionsAreAnotherFile: Plugin = {
  name: "regular-expressions-are-another-file",
  resolveId: (id) => (id === "re2js" ? { id: `${VIRTUAL}re2js` } : null),
  load: (id) =>
    id === `${VIRTUAL}re2js`
      ? [
          'import { createRequire } from "node:module";',
          'const load = (key) => createRequire(import.meta.url)("./re2.js").RE2JS[key];',
          "export const RE2JS = /* @__PURE__ */ new Proxy({}, { get: (_, key) => load(key) });",
        ].join("\n")
      : null,
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
  resolveId: (id, importer, { kind }) => {
    if (importer === RUNTIME_MODULE_ID) return null; // loaded before all other modules
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
/** Of another file of the build; see SCRIPT_HEAD. */
const IMPORT_OF_MODULE = /\bimport\((["'`]\.\/[\w-]+\.js["'`])\)/g;
/** Hexadecimal digits. */
const HASH_LENGTH = 16;

/** What people import is left readable: an error in it shows the line, not all of the file. */
const LIBRARIES: ReadonlySet<string> = new Set([
  "cloud.js",
  "controller.js",
  "scheduler.js",
  "testing.js",
]);

/**
 * One file for what is loaded at the start, one for each module that is imported dynamically, with what only
 * that imports, and one for what several of these share. Without groups every set of modules that some
 * dynamic imports share would be a file of its own.
 */
function byDynamicImport(entry: string, shared: string): CodeSplittingGroup {
  let files: ReadonlyMap<string, string> | undefined;
  return {
    debugName: "by-dynamic-import",
    includeDependenciesRecursively: false,
    name: (id, modules) => {
      files ??= filesByModule(entry, shared, (module) => modules.getModuleInfo(module));
      return files.get(id) ?? shared;
    },
  };
}

type ModuleImports = Pick<ModuleInfo, "importedIds" | "dynamicallyImportedIds">;

/** What is loaded at the start has the name of the entry. */
function filesByModule(
  entry: string,
  shared: string,
  infoOf: (id: string) => ModuleImports | null,
): ReadonlyMap<string, string> {
  const importsOf = (id: string): readonly string[] => infoOf(id)?.importedIds ?? [];
  const atStart = importedBy(entry, importsOf);
  const roots = new Set(
    [...atStart]
      .flatMap((id) => infoOf(id)?.dynamicallyImportedIds ?? [])
      .filter((id) => !atStart.has(id)),
  );
  const files = new Map([...atStart].map((id) => [id, nameOf(entry)]));
  for (const root of roots) {
    for (const id of importedBy(root, importsOf)) {
      if (atStart.has(id)) continue;
      files.set(id, files.has(id) ? shared : nameOf(root));
    }
  }
  return files;
}

function nameOf(module: string): string {
  return parse(module).name;
}

/** The module and all that it imports, directly or not. */
function importedBy(
  entry: string,
  importsOf: (id: string) => readonly string[],
): ReadonlySet<string> {
  const found = new Set([entry]);
  for (const id of found) for (const imported of importsOf(id)) found.add(imported);
  return found;
}

/** A debugger finds the sources of these. */
const SOURCE_MAPS: ReadonlySet<string> = new Set(["commands.js", "server.cjs"]);

async function bundle(
  input: string,
  file: string,
  plugins: Plugin[],
  codeSplitting: OutputOptions["codeSplitting"] = false,
): Promise<void> {
  const isScript = file.endsWith(SCRIPT_SUFFIX);
  await build({
    input: `${root}${input}`,
    platform: "node",
    preserveEntrySignatures: "allow-extension",
    plugins: [...plugins, nativeCodeStaysOutside, builtInsAsTheyAre],
    transform: {
      target: "node20.19",
      define: {
        "globalThis.K8TS_VERSION": JSON.stringify(version),
        ...(isScript ? {} : { __dirname: "import.meta.dirname" }), // of CommonJS packages
      },
    },
    output: {
      ...(codeSplitting === false
        ? { file: join(making, file) }
        : { dir: making, entryFileNames: file, chunkFileNames: `[name]${SCRIPT_SUFFIX}` }),
      format: isScript ? "cjs" : "esm",
      codeSplitting,
      // One letter beyond Latin-1, and V8 keeps the whole text with two bytes for each.
      charset: "ascii",
      minify: LIBRARIES.has(file) ? false : { compress: true, mangle: false, codegen: true },
      ...(file === ENTRY ? { banner: "#!/usr/bin/env node" } : {}),
      sourcemap: SOURCE_MAPS.has(file),
    },
    logLevel: "warn",
  });
}

writeGeneratedTypes();
writeDescriptions();
await bundle("src/cmd/commands.ts", "commands.js", [sshIsAnotherFile, grpcIsAnotherFile]);
await bundle("src/cmd/server-commands.ts", "server.cjs", [sshIsAnotherFile, grpcIsAnotherFile], {
  groups: [byDynamicImport(`${root}src/cmd/server-commands.ts`, "components")],
});
await bundle("src/cmd/node-commands.ts", "node.js", [grpcIsAnotherFile]);
await bundle("src/cmd/proxy-commands.ts", "proxy.js", [grpcIsAnotherFile]);
await bundle("src/cmd/dns-commands.ts", "dns.js", [
  dnsManifestIsAnotherFile,
  regularExpressionsAreAnotherFile,
]);
await bundle("src/cmd/dns/print-dns-manifest.ts", "dns-manifest.js", []);
await bundle("node_modules/re2js/build/index.js", "re2.js", []);
await bundle("src/cmd/manager-commands.ts", "manager.js", [grpcIsAnotherFile]);
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
makeScripts();
await buildWeb(join(making, WEB));
chmodSync(join(making, ENTRY), 0o755);
copyFileSync(DESCRIPTIONS_FILE, join(making, "descriptions.gz"));
moveIntoPlace();
await rememberCompiledCode(`${root}dist/k8ts.js`);

/** Makes CommonJS files the scripts that `src/lib/script-loader.ts` loads. */
function makeScripts(): void {
  for (const name of readdirSync(making).filter((file) => file.endsWith(SCRIPT_SUFFIX))) {
    const file = join(making, name);
    const source = readFileSync(file, "utf8").replaceAll(IMPORT_OF_MODULE, "importModule($1)");
    const script = `${SCRIPT_HEAD}${source}\n})\n`;
    const hash = createHash("sha256").update(script).digest("hex").slice(0, HASH_LENGTH);
    writeFileSync(file, `${script}${SOURCE_HASH}${hash}\n`);
  }
}

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
