/**
 * Who may import whom, and which folders are pure. `npm run layers` fails on any breach.
 *
 * Every component talks only to the API server, and only the API server talks to the store: that
 * is a property of this table. Tests may import anything.
 *
 * Inside the API server rooms have rules too: what is nearer to the store knows nothing of the verbs and
 * the sockets.
 *
 * It also refuses `key in object` with a computed key: data from outside may have keys such as
 * `constructor` or `toString`, which every object inherits. `Object.hasOwn` looks at own keys only.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "oxc-parser";

interface Layer {
  readonly imports: readonly string[] | "any" | "all but testing";
  /** No `node:` modules, timers, clocks, randomness or process: a function of its arguments. */
  readonly pure?: boolean;
}

export const LAYERS: Readonly<Record<string, Layer>> = {
  lib: { imports: [] },
  api: { imports: ["lib"], pure: true },
  store: { imports: ["lib"] },
  client: { imports: ["lib", "api"] },
  pki: { imports: ["lib"] },
  apiserver: { imports: ["lib", "api", "store", "pki"] },
  runtime: { imports: ["lib", "api", "client"] },
  controllers: { imports: ["lib", "api", "runtime"], pure: true },
  scheduler: { imports: ["lib", "api", "client"] },
  metrics: { imports: ["lib", "api", "client"] },
  host: { imports: ["lib"] },
  etcd: { imports: ["lib", "store", "pki", "host"] },
  kubelet: { imports: ["lib", "api", "client", "host", "pki"] },
  "kubelet/decide": { imports: ["lib", "api"], pure: true },
  sim: { imports: ["lib", "api", "client", "kubelet"] },
  proxy: { imports: ["lib", "api", "client", "host"] },
  "proxy/rules": { imports: ["lib", "api"], pure: true },
  network: { imports: ["lib", "api", "client", "host"] },
  "network/policy/rules": { imports: ["lib", "api"], pure: true },
  dns: { imports: ["lib", "api", "client"] },
  "dns/zone": { imports: ["lib", "api"], pure: true },
  cloud: { imports: ["lib", "api", "client", "runtime", "host"] },
  ingress: { imports: ["lib", "api", "client"] },
  "ingress/routes": { imports: ["lib", "api"], pure: true },
  tunnel: { imports: ["lib"] },
  dashboard: { imports: ["lib", "api", "client"] },
  "dashboard/overview": { imports: ["lib", "api"], pure: true },
  "dashboard/table": { imports: ["lib"], pure: true },
  cmd: { imports: "all but testing" },
  cli: { imports: ["lib", "api", "client", "cmd"] },
  testing: { imports: "any" },
  entries: { imports: "any" },
};

/** What stands at the socket, and what answers a path or a verb: the rooms below know nothing of them. */
const ENTRANCES = ["http-thread", "paths", "verbs", "special", "discovery"];

/**
 * The rooms of the API server between the socket and the store, and which others a room may not import.
 * `http` reads requests, `request` finds out who wants what, `verbs` and `special` answer, `write` is the
 * one write path, `watch` the cache that reads are answered from, `storage` the way to the store.
 */
export const APISERVER_ROOMS: Readonly<Record<string, readonly string[]>> = {
  verbs: ["http", "http-thread", "paths", "special", "discovery", "admission", "authn", "authz"],
  write: [...ENTRANCES, "http", "watch"],
  admission: [...ENTRANCES, "http", "watch", "response"],
  authn: [...ENTRANCES, "http", "watch", "write", "response", "admission"],
  authz: [...ENTRANCES, "http", "watch", "write", "response"],
  response: [...ENTRANCES, "write", "admission", "authn", "authz"],
  watch: [...ENTRANCES, "request", "admission", "authn", "authz"],
  storage: [...ENTRANCES, "http", "response", "admission", "authn", "authz"],
  registry: [...ENTRANCES, "http", "request", "write", "watch", "response", "admission"],
  encryption: [...ENTRANCES, "http", "request", "write", "watch", "response", "admission"],
  config: [...ENTRANCES, "http", "request", "write", "watch", "response", "storage", "admission"],
};

/** A layer is a folder below src, or one up to this many levels deep. */
const FOLDER_DEPTH_MAX = 3;

/** Where the system's clock, timers and randomness are let in. */
const IMPURE_EXCEPTIONS: ReadonlySet<string> = new Set([
  "lib/time/system-clock.ts",
  "lib/random.ts",
]);

/**
 * Outside the pure folders too, time and chance come from an injected Clock or Random. Only `lib`
 * may import the timer modules.
 */
const AMBIENT_TIME = new Set(["Date.now", "Math.random", "performance.now"]);
const TIMERS = new Set(["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]);
const TIMER_MODULES = new Set(["node:timers", "node:timers/promises", "timers", "timers/promises"]);

export function checkFile(path: string, source: string): string[] {
  const layerName = layerOf(path);
  if (layerName === undefined) return [`${path}: no layer in tools/layers.ts owns this file`];
  const layer = LAYERS[layerName]!;
  const problems: string[] = [];
  const { program, module, errors } = parseSync(path, source);
  for (const error of errors) problems.push(`${path}: ${error.message}`);

  const specifiers = [
    ...module.staticImports.map((i) => i.moduleRequest.value),
    ...module.staticExports.flatMap((e) => e.entries.flatMap((x) => x.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map((i) =>
      source.slice(i.moduleRequest.start, i.moduleRequest.end).replace(/^["'`]|["'`]$/g, ""),
    ),
  ];
  for (const specifier of new Set(specifiers)) {
    const problem = checkImport(path, layerName, layer, specifier);
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
  }
  for (const use of inheritedKeyUses(program, source)) problems.push(`${path}: ${use}`);
  if (!IMPURE_EXCEPTIONS.has(path)) {
    for (const use of ambientUses(program, layer.pure ?? false)) problems.push(`${path}: ${use}`);
  }
  return problems;
}

function checkImport(
  path: string,
  layerName: string,
  layer: Layer,
  specifier: string,
): string | undefined {
  if (TIMER_MODULES.has(specifier) && layerName !== "lib") {
    return `imports ${specifier}; take a Clock`;
  }
  if (specifier.startsWith("node:")) {
    return layer.pure ? `pure folder ${layerName} imports ${specifier}` : undefined;
  }
  const target = targetOf(path, specifier);
  if (target === undefined || layer.imports === "any") return undefined;
  const targetLayer = layerOf(target);
  if (targetLayer === undefined) return `imports ${specifier}, which is outside src`;
  if (layer.imports === "all but testing") {
    return targetLayer === "testing" ? `${layerName} may not import testing` : undefined;
  }
  if (targetLayer === layerName) return checkRoom(path, target);
  if (layer.imports.includes(targetLayer)) return undefined;
  const top = targetLayer.split("/")[0]!;
  if (layer.imports.includes(top) || top === layerName) return undefined;
  return `${layerName} may not import ${targetLayer} (${specifier})`;
}

function checkRoom(path: string, target: string): string | undefined {
  const [layer, room = ""] = path.split("/");
  const [, targetRoom = ""] = target.split("/");
  if (layer !== "apiserver" || !Object.hasOwn(APISERVER_ROOMS, room)) return undefined;
  if (!APISERVER_ROOMS[room]!.includes(targetRoom)) return undefined;
  return `the room apiserver/${room} may not import apiserver/${targetRoom}`;
}

/** Path below src of a project import; undefined for packages. */
function targetOf(path: string, specifier: string): string | undefined {
  if (specifier.startsWith("#")) return specifier.slice(1);
  if (!specifier.startsWith(".")) return undefined;
  return relative(SRC, resolve(SRC, dirname(path), specifier));
}

function layerOf(path: string): string | undefined {
  const folders = path.split("/");
  for (let depth = FOLDER_DEPTH_MAX; depth > 0; depth--) {
    const name = folders.slice(0, depth).join("/");
    if (Object.hasOwn(LAYERS, name)) return name;
  }
  return undefined;
}

function ambientUses(program: Parameters<Visitor["visit"]>[0], pure: boolean): string[] {
  const uses: string[] = [];
  new Visitor({
    MemberExpression(node) {
      if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
      const name = `${node.object.name}.${node.property.name}`;
      if (AMBIENT_TIME.has(name)) uses.push(`uses ${name}; take a Clock or Random`);
      if (pure && node.object.name === "process") uses.push("pure folder uses process");
    },
    CallExpression(node) {
      if (node.callee.type === "Identifier" && TIMERS.has(node.callee.name)) {
        uses.push(`calls ${node.callee.name}; take a Clock`);
      }
    },
    NewExpression(node) {
      const bare = node.callee.type === "Identifier" && node.callee.name === "Date";
      if (bare && node.arguments.length === 0) uses.push("reads the time with new Date()");
    },
  }).visit(program);
  return uses;
}

/** `in` is for narrowing closed unions by a literal name that no object inherits. */
function inheritedKeyUses(program: Parameters<Visitor["visit"]>[0], source: string): string[] {
  const uses: string[] = [];
  new Visitor({
    BinaryExpression({ operator, left, start, end }) {
      if (operator !== "in") return;
      const narrows = left.type === "Literal" && !(String(left.value) in Object.prototype);
      if (!narrows) uses.push(`uses \`${source.slice(start, end)}\`; take Object.hasOwn`);
    },
  }).visit(program);
  return uses;
}

const SRC = fileURLToPath(new URL("../src/", import.meta.url));

function sourceFiles(folder: string): string[] {
  return readdirSync(join(SRC, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    return /\.tsx?$/.test(path) && !/\.test(ing)?\.tsx?$/.test(path) ? [path] : [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = sourceFiles("");
  const problems = files.flatMap((path) => checkFile(path, readFileSync(join(SRC, path), "utf8")));
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(`layers: ${files.length} files, ${problems.length} problems\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
