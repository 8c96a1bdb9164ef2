/** An aggregated API server that is dead does not hang the garbage collector or the deletion of a namespace. */
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import type { ConfigMap, Namespace, Service } from "#api/generated/core.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { startHttpsServer, type TestHttpsServer } from "#apiserver/webhook/https-server.testing.ts";
import { build } from "#testing/build.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

const GROUP = "dead.example.com";
const WITHIN = { timeout: 90_000, interval: 50 };
const THINGS = {
  name: "things",
  singularName: "thing",
  kind: "Thing",
  namespaced: true,
  verbs: ["create", "delete", "deletecollection", "get", "list", "watch"],
};

/** `silent` never answers; `resources silent` answers discovery and checks only, so that it seems to be well. */
type Health = "well" | "silent" | "resources silent" | "ended";

let health: Health = "well";
let followed = 0;
let extension: TestHttpsServer;
let server: TestServer;

beforeAll(async () => {
  extension = await startHttpsServer(["api.extension.svc"], serve);
  server = await startTestServer({ controllers: true, flags: ["--request-timeout", "2s"] });
  const { client } = server;
  await client.create(namespaceKind, { metadata: { name: "extension" } } as Namespace);
  await client.create(serviceKind, {
    metadata: { name: "api", namespace: "extension" },
    spec: { type: "ExternalName", externalName: "localhost" },
  } as Service);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await extension?.[Symbol.asyncDispose]();
});

function serve({ url = "", socket }: IncomingMessage, response: ServerResponse): void {
  if (health === "ended") return void socket.destroy();
  if (health === "silent") return;
  const json = (value: unknown): void =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (url === `/apis/${GROUP}/v1`) {
    const about = { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${GROUP}/v1` };
    json({ ...about, resources: [THINGS] });
  } else if (!url.includes("/things")) {
    response.writeHead(404).end();
  } else if (health === "resources silent") {
    return;
  } else {
    followed += 1;
    const about = { kind: "Thing", apiVersion: `${GROUP}/v1` };
    const metadata = { resourceVersion: "1" };
    if (!/watch=(1|true)/.test(url)) {
      json({ ...about, kind: "ThingList", metadata, items: [] });
      return;
    }
    const annotations = { "k8s.io/initial-events-end": "true" };
    const object = { ...about, metadata: { ...metadata, annotations } };
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  }
}

async function register(): Promise<void> {
  const { client } = server;
  followed = 0;
  await client.create(apiServiceKind, {
    metadata: { name: `v1.${GROUP}` },
    spec: {
      group: GROUP,
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      service: { namespace: "extension", name: "api", port: extension.port },
      caBundle: extension.caBundle,
    },
  } as APIService);
  // The garbage collector has found the resource and follows it.
  await vi.waitFor(() => assert.ok(followed > 0), WITHIN);
}

async function isThere(name: string, namespace: string): Promise<boolean> {
  return (await server.client.get(configMapKind, { namespace, name })).ok;
}

async function trueConditions(namespace: string): Promise<Record<string, string>> {
  const found = await server.client.get(namespaceKind, { name: namespace });
  const conditions = found.ok ? (found.value.status.conditions ?? []) : [];
  const isTrue = conditions.filter(({ status }) => status === "True");
  return Object.fromEntries(isTrue.map(({ type, message }) => [type, message ?? ""]));
}

const DISCOVERY_FAILED = {
  NamespaceDeletionDiscoveryFailure: `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${GROUP}/v1: stale GroupVersion discovery: ${GROUP}/v1`,
};
const ROWS: readonly { health: Health; conditions: (found: Record<string, string>) => void }[] = [
  { health: "ended", conditions: (found) => assert.deepEqual(found, DISCOVERY_FAILED) },
  { health: "silent", conditions: (found) => assert.deepEqual(found, DISCOVERY_FAILED) },
  {
    health: "resources silent",
    conditions: ({ NamespaceDeletionContentFailure: message = "", ...others }) => {
      assert.deepEqual(others, {});
      assert.match(message, /^Failed to delete all resource types, 1 remaining: .*(timeout|time)/i);
    },
  },
];

describe("APIService whose server is dead", () => {
  test.each(ROWS)(
    "$health: the garbage collector deletes dependents, a namespace is emptied and its conditions say what failed",
    async ({ health: dead, conditions }) => {
      const { client } = server;
      const namespace = `shop-${dead.replace(" ", "-")}`;
      health = "well";
      await register();
      health = dead;
      extension.server.closeAllConnections();

      await client.create(namespaceKind, { metadata: { name: namespace } } as Namespace);
      const owner = await client.create(configMapKind, {
        metadata: { name: "owner", namespace },
      } as ConfigMap);
      assert.ok(owner.ok);
      const { uid = "" } = owner.value.metadata;
      const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
      for (const name of ["owned", "free"]) {
        const metadata = { name, namespace, ...(name === "owned" ? { ownerReferences } : {}) };
        await client.create(configMapKind, { metadata } as ConfigMap);
      }
      await client.delete(configMapKind, { namespace, name: "owner" });
      await vi.waitFor(async () => assert.equal(await isThere("owned", namespace), false), WITHIN);
      assert.equal(await isThere("free", namespace), true);

      const spec = { containers: [{ name: "c", image: "x" }], terminationGracePeriodSeconds: 1 };
      await client.create(podKind, build(podKind, { metadata: { name: "p", namespace }, spec }));
      await client.delete(namespaceKind, { name: namespace });
      await vi.waitFor(async () => {
        assert.equal((await client.get(podKind, { namespace, name: "p" })).ok, false, "the pod");
        assert.equal(await isThere("free", namespace), false, "the ConfigMap");
        conditions(await trueConditions(namespace));
      }, WITHIN);

      await client.delete(apiServiceKind, { name: `v1.${GROUP}` });
      await vi.waitFor(
        async () => assert.equal((await client.get(namespaceKind, { name: namespace })).ok, false),
        WITHIN,
      );
    },
    300_000,
  );
});
