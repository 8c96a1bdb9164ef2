/**
 * Every verb of every kind that is served, with one small object each: create, get, list, watch,
 * update, patch, delete, deletecollection, the status and scale subresources, dry runs, and every
 * form of answer.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Kind, Verb } from "#api/kind.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { isStable } from "#apiserver/discovery/discovery.ts";
import { requestInfoOf } from "#apiserver/request/request-info.ts";
import { subresourcesOf } from "#apiserver/request/subresource-routes.ts";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { type RunningApiServer, runApiServer } from "#cmd/apiserver/run.ts";
import { deferred } from "#lib/async/deferred.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { createRequest } from "#pki/certificate-request.ts";
import { newKey } from "#pki/key-pair.ts";
import { createMemoryStore } from "#store/memory.ts";
import { ask as askServer, type Received, type Sent, watchLines } from "./exchange.ts";
import { CERTIFICATE_REQUEST, exampleOf, QUESTIONS } from "./minimal-objects.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const PROTOBUF_MAGIC = "k8s\0";
const PATCH = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;
/** All but what only namespaces leave out. */
const STORED_VERBS: readonly Verb[] = [
  "create",
  "delete",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

const directory = mkdtempSync(join(tmpdir(), "k8ts-test-kinds-"));
let server: RunningApiServer;

beforeAll(async () => {
  const clock = systemClock;
  const args = ["--data-dir", directory, "--secure-port", "0", "--bind-address", "127.0.0.1"];
  server = await runApiServer(
    // No controller creates the service accounts and classes that pods and claims may need.
    parseFlags([...args, "--disable-admission-plugins", "ServiceAccount"]),
    {
      clock,
      random: systemRandom,
      logger: silentLogger,
      hostname: "test",
      store: createMemoryStore({ clock }),
    },
    new AbortController().signal,
  );
  await server.bootstrapped;
});

afterAll(async () => {
  await server.close(0);
  rmSync(directory, { recursive: true, force: true });
});

interface Meta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly deletionTimestamp?: string;
}

interface Value {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Meta;
}

function resourceOf({ group, names }: Kind): string {
  return group === "" ? names.plural : `${names.plural}.${group}`;
}

function collectionOf({ apiVersion, scope, names }: Kind): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}${scope === "Namespaced" ? "/namespaces/default" : ""}/${names.plural}`;
}

/** What was asked for and not refused as a whole: `GROUP/VERSION/PLURAL/SUBRESOURCE VERB`. */
const asked = new Set<string>();

function note(method: string, url: string): void {
  const { pathname, searchParams } = new URL(url, "https://server");
  const info = requestInfoOf(method, pathname, searchParams);
  const { group, version, resource, subresource, verb } = info;
  asked.add(`${group}/${version}/${resource}/${subresource} ${verb}`);
}

async function ask(method: string, url: string, sent?: Sent): Promise<Received> {
  const answer = await askServer(server.api, method, url, sent);
  if (answer.code < 400) note(method, url);
  return answer;
}

/** Fails unless the answer has the wanted code; answers its JSON. */
async function want<T = Value>(code: number, method: string, url: string, sent?: Sent): Promise<T> {
  const answer = await ask(method, url, sent);
  assert.equal(answer.code, code, `${method} ${url}: ${answer.bytes}`);
  return jsonOf<T>(answer);
}

function jsonOf<T>({ bytes }: Received): T {
  return JSON.parse(bytes.toString()) as T;
}

/** Builds the object that is sent. */
function objectOf(kind: Kind, name: string): Record<string, unknown> {
  const resource = resourceOf(kind);
  const example = exampleOf(resource);
  assert.ok(example !== undefined, `there is no example of ${resource}`);
  const { apiVersion, names } = kind;
  const body = resource === CERTIFICATE_REQUEST ? certificateRequest() : example.of(name);
  return { apiVersion, kind: names.kind, metadata: { name, labels: { test: "kinds" } }, ...body };
}

function certificateRequest(): object {
  const pem = createRequest({ commonName: "someone" }, [], newKey().privateKey);
  return {
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "example.com/signer",
      usages: ["client auth"],
    },
  };
}

async function createDry(kind: Kind, collection: string, name: string): Promise<void> {
  await want(201, "POST", `${collection}?dryRun=All`, { body: objectOf(kind, name) });
  await want(404, "GET", `${collection}/${name}`);
}

/** The server itself writes into some objects a moment after they were made. */
async function settled(kind: Kind, one: string, created: Value): Promise<Value> {
  if (!WRITTEN_TO.includes(kind.names.kind)) return created;
  let before = created;
  for (;;) {
    await systemClock.sleep(SETTLE_MS);
    const now = await want(200, "GET", one);
    if (now.metadata.resourceVersion === before.metadata.resourceVersion) return now;
    before = now;
  }
}

const WRITTEN_TO = ["FlowSchema", "CustomResourceDefinition", "APIService"];
const SETTLE_MS = 50;

async function readEveryForm(kind: Kind, collection: string, created: Value): Promise<void> {
  const { name, uid } = created.metadata;
  const one = `${collection}/${name}`;
  assert.deepEqual(await want(200, "GET", one), created);
  type Table = Value & { rows: { cells: unknown[] }[]; columnDefinitions: unknown[] };
  const table = await want<Table>(200, "GET", one, { accept: TABLE });
  assert.equal(table.kind, "Table");
  assert.equal(table.rows.length, 1);
  // Of the cells that have no heading only upstream knows why.
  assert.ok(table.rows[0]!.cells.length >= table.columnDefinitions.length);
  const partial = await want(200, "GET", one, { accept: PARTIAL });
  assert.deepEqual([partial.kind, partial.metadata], ["PartialObjectMetadata", created.metadata]);
  const yaml = await ask("GET", one, { accept: "application/yaml" });
  assert.match(yaml.bytes.toString(), new RegExp(`^ {2}uid: ${uid}$`, "m"));

  type List = Value & { items: Value[] };
  const list = await want<List>(200, "GET", collection);
  assert.deepEqual([list.kind, list.apiVersion], [kind.names.list, kind.apiVersion]);
  const { kind: _, apiVersion: __, ...item } = created;
  assert.deepEqual(
    list.items.find(({ metadata }) => metadata.uid === uid),
    item,
  );
  const rows = await want<Table>(200, "GET", collection, { accept: TABLE });
  assert.equal(rows.rows.length, list.items.length);
  const partials = await want<List>(200, "GET", collection, { accept: PARTIALS });
  assert.equal(partials.kind, "PartialObjectMetadataList");
  assert.equal(partials.items.length, list.items.length);
  const byField = `${collection}?fieldSelector=metadata.name%3D${name}`;
  assert.equal((await want<List>(200, "GET", byField)).items.length, 1);
}

/** What was sent as protobuf and comes back the same changes nothing. */
async function roundTripProtobuf(one: string, created: Value): Promise<void> {
  const packed = await ask("GET", one, { accept: PROTOBUF });
  assert.equal(packed.code, 200);
  assert.equal(packed.headers["content-type"], PROTOBUF);
  assert.equal(packed.bytes.toString("latin1", 0, 4), PROTOBUF_MAGIC);
  const put = await want(200, "PUT", one, { contentType: PROTOBUF, body: packed.bytes });
  assert.deepEqual(put, created);
}

async function updateAndPatch(kind: Kind, one: string, created: Value): Promise<void> {
  const changed = (label: string): object => ({
    ...created,
    metadata: { ...created.metadata, labels: { ...created.metadata.labels, updated: label } },
  });
  await want(200, "PUT", `${one}?dryRun=All`, { body: changed("dry") });
  assert.deepEqual(await want(200, "GET", one), created);
  const updated = await want(200, "PUT", one, { body: changed("yes") });
  assert.equal(updated.metadata.labels?.updated, "yes");
  assert.notEqual(updated.metadata.resourceVersion, created.metadata.resourceVersion);
  await want(409, "PUT", one, { body: changed("stale") });

  const merge = { metadata: { annotations: { merge: "yes" } } };
  await want(200, "PATCH", one, { contentType: PATCH.merge, body: merge });
  const strategic = { metadata: { annotations: { strategic: "yes" } } };
  await want(200, "PATCH", one, { contentType: PATCH.strategic, body: strategic });
  const json = [{ op: "add", path: "/metadata/annotations/json", value: "yes" }];
  await want(200, "PATCH", one, { contentType: PATCH.json, body: json });
  const applied = {
    apiVersion: kind.apiVersion,
    kind: kind.names.kind,
    metadata: { name: created.metadata.name, annotations: { apply: "yes" } },
  };
  const apply = { contentType: PATCH.apply, body: applied };
  const after = await want(200, "PATCH", `${one}?fieldManager=test&force=true`, apply);
  for (const type of Object.keys(PATCH)) assert.equal(after.metadata.annotations?.[type], "yes");
}

async function useSubresources(kind: Kind, one: string): Promise<void> {
  const { group, version, names } = kind;
  const routes = subresourcesOf(server.api.resources.find(group, version, names.plural)!);
  const has = (name: string): boolean => routes.some((route) => route.name === name);
  if (has("status")) {
    const current = await want(200, "GET", `${one}/status`);
    assert.equal(
      (await want(200, "PUT", `${one}/status`, { body: current })).kind,
      kind.names.kind,
    );
    const body = { status: {} };
    await want(200, "PATCH", `${one}/status`, { contentType: PATCH.merge, body });
  }
  if (has("scale")) {
    const scale = await want(200, "GET", `${one}/scale`);
    assert.deepEqual([scale.kind, scale.apiVersion], ["Scale", "autoscaling/v1"]);
    type Scale = Value & { spec: { replicas: number } };
    const sent = { contentType: PATCH.merge, body: { spec: { replicas: 2 } } };
    const scaled = await want<Scale>(200, "PATCH", `${one}/scale`, sent);
    assert.equal(scaled.spec.replicas, 2);
    const more = { ...scaled, spec: { replicas: 3 } };
    const again = await want<Scale>(200, "PUT", `${one}/scale`, { body: more });
    assert.equal(again.spec.replicas, 3);
  }
}

/** Also lets go what is held back by finalizers that a controller would take away. */
async function remove(kind: Kind, one: string): Promise<void> {
  await want(200, "DELETE", `${one}?dryRun=All`);
  assert.equal((await want(200, "GET", one)).metadata.deletionTimestamp, undefined);
  const answer = await ask("DELETE", `${one}?gracePeriodSeconds=0`);
  assert.ok([200, 202].includes(answer.code), answer.bytes.toString());
  await letGo(kind, one);
  await want(404, "GET", one);
}

async function letGo(kind: Kind, one: string): Promise<void> {
  const left = await ask("GET", one);
  if (left.code === 404) return;
  assert.ok(jsonOf<Value>(left).metadata.deletionTimestamp, "it is neither gone nor going");
  if (kind.names.kind === "Namespace") {
    const body = { ...jsonOf<object>(left), spec: { finalizers: [] } };
    await want(200, "PUT", `${one}/finalize`, { body });
    return;
  }
  const body = { metadata: { finalizers: null } };
  const { code } = await ask("PATCH", one, { contentType: PATCH.merge, body });
  assert.ok(code === 200 || code === 404, `${code}`); // its own controller may have been faster
}

const served = builtInKinds.filter(isStable);
const stored = served.filter(({ verbs }) => verbs.includes("watch"));

describe("every kind: kinds that are stored", () => {
  test.each(stored.map((kind) => ({ title: `${kind.apiVersion} ${kind.names.kind}`, kind })))(
    "$title",
    async ({ kind }) => {
      const collection = collectionOf(kind);
      const [name, other] = exampleOf(resourceOf(kind))?.names ?? ["", ""];
      const one = `${collection}/${name}`;
      for (const verb of STORED_VERBS) assert.ok(kind.verbs.includes(verb), verb);
      await createDry(kind, collection, name);

      const { metadata } = await want(200, "GET", `${collection}?limit=1`);
      const life = new AbortController();
      const seen: string[] = [];
      const deleted = deferred<void>();
      const watched = `${collection}?watch=1&resourceVersion=${metadata.resourceVersion}`;
      note("GET", watched);
      const watching = watchLines(
        server.api,
        watched,
        (line) => {
          const { type, object } = JSON.parse(line) as { type: string; object: Value };
          if (object.metadata.name !== name) return;
          seen.push(type);
          if (type === "DELETED") deleted.resolve();
        },
        life.signal,
      );
      const answer = await want(201, "POST", collection, { body: objectOf(kind, name) });
      assert.deepEqual([answer.kind, answer.apiVersion], [kind.names.kind, kind.apiVersion]);
      const created = await settled(kind, one, answer);
      await want(409, "POST", collection, { body: objectOf(kind, name) });
      await readEveryForm(kind, collection, created);
      await roundTripProtobuf(one, created);
      await updateAndPatch(kind, one, created);
      await useSubresources(kind, one);
      await remove(kind, one);
      await deleted.promise;
      life.abort();
      await watching;
      assert.equal(seen[0], "ADDED");
      assert.ok(
        seen.slice(1, -1).every((type) => type === "MODIFIED") && seen.length >= 7,
        `${seen}`,
      );
      assert.equal(seen.at(-1), "DELETED");

      if (!kind.verbs.includes("deletecollection")) return;
      for (const each of [name, other]) {
        await want(201, "POST", collection, { body: objectOf(kind, each) });
      }
      const chosen = `${collection}?labelSelector=test%3Dkinds&gracePeriodSeconds=0`;
      await want(200, "DELETE", `${chosen}&dryRun=All`);
      await want(200, "GET", one);
      await want(200, "DELETE", chosen);
      for (const each of [name, other]) {
        await letGo(kind, `${collection}/${each}`);
        await want(404, "GET", `${collection}/${each}`);
      }
    },
  );
});

describe("every kind: kinds that are answered", () => {
  const answered = served.filter(({ verbs }) => verbs.length === 1 && verbs[0] === "create");

  test.each(
    answered
      .filter(({ names }) => names.kind !== "Binding")
      .map((kind) => ({ title: `${kind.apiVersion} ${kind.names.kind}`, kind })),
  )("$title", async ({ kind }) => {
    const question = QUESTIONS[resourceOf(kind)];
    assert.ok(question !== undefined, "there is no question for it");
    const { apiVersion, names } = kind;
    const body = { apiVersion, kind: names.kind, ...question };
    const value = await want<Value & { status?: object }>(201, "POST", collectionOf(kind), {
      body,
    });
    assert.deepEqual([value.kind, value.apiVersion], [names.kind, apiVersion]);
    assert.ok(value.status !== undefined);
    const packed = await ask("POST", collectionOf(kind), { body, accept: PROTOBUF });
    assert.equal(packed.bytes.toString("latin1", 0, 4), PROTOBUF_MAGIC);
    await want(405, "GET", collectionOf(kind));
  });

  test("v1 ComponentStatus", async () => {
    const list = await want<{ items: Value[] }>(200, "GET", "/api/v1/componentstatuses");
    const [first] = list.items;
    await want(200, "GET", `/api/v1/componentstatuses/${first!.metadata.name}`);
  });

  test("v1 Binding", async () => {
    const pods = "/api/v1/namespaces/default/pods";
    const kind = served.find(({ names }) => names.kind === "Pod")!;
    await want(201, "POST", pods, { body: objectOf(kind, "bound") });
    const target = { apiVersion: "v1", kind: "Node", name: "n" };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name: "bound" }, target };
    await want(201, "POST", "/api/v1/namespaces/default/bindings", { body });
    const pod = await want<{ spec: { nodeName: string } }>(200, "GET", `${pods}/bound`);
    assert.equal(pod.spec.nodeName, "n");
    await want(200, "DELETE", `${pods}/bound?gracePeriodSeconds=0`);
  });
});

describe("subresources with rules of their own", () => {
  const pods = "/api/v1/namespaces/default/pods";
  const podKind = served.find(({ names }) => names.kind === "Pod")!;
  interface Pod extends Value {
    readonly spec: {
      readonly nodeName?: string;
      readonly containers: readonly { readonly name: string; readonly resources: object }[];
      readonly ephemeralContainers?: readonly { readonly name: string }[];
    };
  }

  test("pods: status, resize, ephemeralcontainers and binding", async () => {
    const one = `${pods}/parts`;
    const status = { capacity: { cpu: "1" }, allocatable: { cpu: "1" } };
    await want(201, "POST", "/api/v1/nodes", { body: { metadata: { name: "n" }, status } });
    const resources = { requests: { cpu: "50m" }, limits: { cpu: "300m" } };
    const spec = { containers: [{ name: "c", image: "i", resources }] };
    await want(201, "POST", pods, { body: { ...objectOf(podKind, "parts"), spec } });
    const log = await ask("GET", `${one}/log`);
    assert.deepEqual([log.code, log.bytes.length], [204, 0]); // it is on no node yet
    const target = { apiVersion: "v1", kind: "Node", name: "n" };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name: "parts" }, target };
    await want(201, "POST", `${one}/binding`, { body });

    const pod = await want<Pod>(200, "GET", `${one}/ephemeralcontainers`);
    assert.equal(pod.spec.nodeName, "n");
    const first = { name: "first", image: "i" };
    const looked = { ...pod, spec: { ...pod.spec, ephemeralContainers: [first] } };
    await want(200, "PUT", `${one}/ephemeralcontainers`, { body: looked });
    const patch = { spec: { ephemeralContainers: [{ name: "second", image: "i" }] } };
    const sent = { contentType: PATCH.strategic, body: patch };
    const debugged = await want<Pod>(200, "PATCH", `${one}/ephemeralcontainers`, sent);
    const names = debugged.spec.ephemeralContainers?.map(({ name }) => name);
    assert.deepEqual(names?.toSorted(), ["first", "second"]);

    const whole = await want<Pod>(200, "GET", `${one}/resize`);
    assert.deepEqual(whole.spec.containers[0]?.resources, resources);
    const resized = (cpu: string) => ({ name: "c", resources: { ...resources, limits: { cpu } } });
    const smaller = { spec: { containers: [resized("100m")] } };
    const resize = { contentType: PATCH.strategic, body: smaller };
    const small = await want<Pod>(200, "PATCH", `${one}/resize`, resize);
    const containers = [{ ...small.spec.containers[0]!, ...resized("200m") }];
    const larger = { ...small, spec: { ...small.spec, containers } };
    const large = await want<Pod>(200, "PUT", `${one}/resize`, { body: larger });
    assert.match(JSON.stringify(large.spec.containers[0]!.resources), /"cpu":"200m"/);

    const eviction = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "parts" },
      deleteOptions: { gracePeriodSeconds: 0 },
    };
    await want(201, "POST", `${one}/eviction`, { body: eviction });
    await want(404, "GET", one);
    await want(200, "DELETE", "/api/v1/nodes/n");
  });

  test("of service accounts and certificate requests", async () => {
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await want(201, "POST", accounts, { body: { metadata: { name: "robot" } } });
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    interface Token extends Value {
      readonly status: { readonly token: string };
    }
    const made = await want<Token>(201, "POST", `${accounts}/robot/token`, { body: review });
    assert.match(made.status.token, /^eyJ/);
    await want(200, "DELETE", `${accounts}/robot`);

    const kind = served.find((one) => resourceOf(one) === CERTIFICATE_REQUEST)!;
    const collection = collectionOf(kind);
    const one = `${collection}/asked`;
    await want(201, "POST", collection, { body: objectOf(kind, "asked") });
    const request = await want(200, "GET", `${one}/approval`);
    const approved = { type: "Approved", status: "True", reason: "test", message: "m" };
    const status = { conditions: [approved] };
    await want(200, "PUT", `${one}/approval`, { body: { ...request, status } });
    const changed = { contentType: PATCH.merge, body: { status } };
    await want(200, "PATCH", `${one}/approval`, changed);
    await want(200, "DELETE", one);
  });
});

describe("discovery", () => {
  interface Announced {
    readonly resource: string;
    readonly verbs: readonly string[];
    readonly subresources?: readonly { subresource: string; verbs: readonly string[] }[];
  }
  interface Groups {
    readonly items: readonly {
      readonly metadata: { readonly name?: string };
      readonly versions: readonly { version: string; resources: readonly Announced[] }[];
    }[];
  }

  /** What goes on to a kubelet is tested over real connections, elsewhere. */
  const CONNECTIONS: ReadonlySet<string> = new Set(["attach", "exec", "portforward", "proxy"]);

  test("announces nothing that was not done here", async () => {
    const missing: string[] = [];
    for (const path of ["/api", "/apis"]) {
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      const { items } = await want<Groups>(200, "GET", path, { accept });
      for (const { metadata, versions } of items) {
        for (const { version, resources } of versions) {
          for (const { resource, verbs: own, subresources = [] } of resources) {
            const place = `${metadata.name ?? ""}/${version}/${resource}`;
            for (const { subresource, verbs } of [
              { subresource: "", verbs: own },
              ...subresources,
            ]) {
              for (const verb of verbs) {
                const one = `${place}/${subresource} ${verb}`;
                if (!asked.has(one) && !CONNECTIONS.has(subresource)) missing.push(one);
              }
            }
          }
        }
      }
    }
    assert.deepEqual(missing, []);
  });
});
