import assert from "node:assert/strict";
import { test } from "vitest";
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import { badRequestStatus, success } from "#api/meta/status.ts";
import { type Asked, configMap, startTestApi, type TestApi } from "../api.testing.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { AdmissionPlugin } from "./plugin.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const PODS = "/api/v1/namespaces/default/pods";
const SCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";

test("AdmissionRequest: kind and resource are in the stored version, requestKind in the path's", async () => {
  const { requests, ...recorder } = recordingPlugin();
  await using server = await startTestApi({ admission: () => [recorder] });
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const spec = { scaleTargetRef: target, maxReplicas: 3 };
  await server.want(201, "POST", SCALERS, { body: { metadata: { name: "a" }, spec } });
  const [created] = requests;
  const at = (version: string) => ({
    kind: { group: "autoscaling", version, kind: "HorizontalPodAutoscaler" },
    resource: { group: "autoscaling", version, resource: "horizontalpodautoscalers" },
  });
  assert.deepEqual(created?.requested, at("v1"));
  assert.deepEqual(created?.stored, at("v2"));
  assert.equal(created?.object?.apiVersion, "autoscaling/v2");
});

test("AdmissionRequest: sub-resources carry the type of their body", async () => {
  const { requests, ...recorder } = recordingPlugin();
  await using server = await startTestApi({ admission: () => [recorder] });
  const containers = [{ name: "c", image: "i" }];
  await server.want(201, "POST", PODS, { body: { metadata: { name: "p" }, spec: { containers } } });
  await server.ask("POST", `${PODS}/p/eviction`, { body: { metadata: { name: "p" } } });
  await server.ask("GET", `${PODS}/p/exec?command=true`);
  const kinds = requests.map(({ operation, subresource, requested: { kind, resource } }) => [
    `${operation} ${resource.resource}/${subresource}`,
    `${kind.group}/${kind.version} ${kind.kind}`,
  ]);
  assert.deepEqual(kinds, [
    ["CREATE pods/", "/v1 Pod"],
    ["CREATE pods/eviction", "policy/v1 Eviction"],
    ["CONNECT pods/exec", "/v1 PodExecOptions"],
  ]);
});

test("AdmissionRequest: an update of …/scale is about the Scale, old and new", async () => {
  const seen: unknown[] = [];
  const note = (step: string, { requested, stored, object, old }: AdmissionRequest): undefined => {
    const replicas = [old, object].map((one) => (one as Scale | undefined)?.spec?.replicas);
    seen.push([step, requested.kind.kind, stored.resource.resource, object?.kind, replicas]);
  };
  const plugin: AdmissionPlugin = {
    name: "Recorder",
    operations: ["UPDATE"],
    admit: (request) => note("admit", request),
    validate: (request) => note("validate", request),
  };
  await using server = await startTestApi({ admission: () => [plugin] });
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const spec = { replicas: 1, selector: { matchLabels: { a: "b" } }, template };
  await server.want(201, "POST", DEPLOYMENTS, { body: { metadata: { name: "d" }, spec } });
  await server.want(200, "PATCH", `${DEPLOYMENTS}/d/scale`, {
    body: { spec: { replicas: 3 } },
    headers: { "content-type": "application/merge-patch+json" },
  });
  assert.deepEqual(seen, [
    ["admit", "Scale", "deployments", "Scale", [1, 3]],
    ["validate", "Scale", "deployments", "Scale", [1, 3]],
  ]);
  const deployment = await server.want(200, "GET", `${DEPLOYMENTS}/d`);
  assert.equal(deployment.spec.replicas, 3);
});

test("AdmissionRequest: a mutating plug-in that changes a Scale changes the replicas", async () => {
  const plugin: AdmissionPlugin = {
    name: "AtMostTwo",
    admit: ({ object, subresource }) =>
      subresource === "scale" ? success({ ...object, spec: { replicas: 2 } } as never) : undefined,
  };
  await using server = await startTestApi({ admission: () => [plugin] });
  const template = {
    metadata: { labels: { a: "b" } },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const spec = { replicas: 1, selector: { matchLabels: { a: "b" } }, template };
  await server.want(201, "POST", DEPLOYMENTS, { body: { metadata: { name: "d" }, spec } });
  const scale = await server.want(200, "GET", `${DEPLOYMENTS}/d/scale`);
  const body = { ...scale, spec: { replicas: 5 } };
  const scaled = await server.want(200, "PUT", `${DEPLOYMENTS}/d/scale`, { body });
  assert.equal(scaled.spec.replicas, 2);
});

for (const [name, body] of [
  ["eviction", { metadata: { name: "p" } }],
  ["binding", { metadata: { name: "p" }, target: { kind: "Node", name: "n" } }],
] as const) {
  test(`validating admission: pods/${name} can be refused, and the pod stays as it is`, async () => {
    const plugin: AdmissionPlugin = {
      name: "Refuses",
      validate: ({ subresource }) =>
        subresource === name ? badRequestStatus(`no ${name}`) : undefined,
    };
    await using server = await startTestApi({ admission: () => [plugin] });
    const containers = [{ name: "c", image: "i" }];
    const made = { metadata: { name: "p" }, spec: { containers } };
    const before = await server.want(201, "POST", PODS, { body: made });
    const refused = await server.want(400, "POST", `${PODS}/p/${name}`, { body });
    assert.equal(refused.message, `no ${name}`);
    assert.deepEqual(await server.want(200, "GET", `${PODS}/p`), before);
  });
}

interface WriteRow {
  readonly name: string;
  run(server: TestApi): Promise<Asked>;
  readonly want: Readonly<Record<string, unknown>>;
}

const rows: readonly WriteRow[] = [
  {
    name: "a create with generateName has no name yet",
    run: (server) => server.ask("POST", MAPS, { body: { metadata: { generateName: "a-" } } }),
    want: {
      operation: "CREATE",
      name: "",
      old: undefined,
      dryRun: false,
      options: "CreateOptions",
    },
  },
  {
    name: "an update on a dry run has the old object",
    run: (server) => server.ask("PUT", `${MAPS}/there?dryRun=All`, { body: configMap("there") }),
    want: {
      operation: "UPDATE",
      name: "there",
      old: "there",
      dryRun: true,
      options: "UpdateOptions",
    },
  },
  {
    name: "an apply that creates is a CREATE with PatchOptions",
    run: (server) =>
      server.ask("PATCH", `${MAPS}/b?fieldManager=m`, {
        body: configMap("b"),
        headers: { "content-type": "application/apply-patch+yaml" },
      }),
    want: {
      operation: "CREATE",
      name: "b",
      old: undefined,
      dryRun: false,
      options: "PatchOptions",
    },
  },
  {
    name: "a delete has the old object and no new one",
    run: (server) => server.ask("DELETE", `${MAPS}/there`),
    want: {
      operation: "DELETE",
      name: "there",
      old: "there",
      dryRun: false,
      options: "DeleteOptions",
    },
  },
];

for (const { name, run, want } of rows) {
  test(`AdmissionRequest: ${name}`, async () => {
    const { requests, ...recorder } = recordingPlugin();
    await using server = await startTestApi({ admission: () => [recorder] });
    await server.want(201, "POST", MAPS, { body: configMap("there") });
    const before = requests.length;
    await run(server);
    const [asked, ...more] = requests.slice(before);
    assert.deepEqual(more, []);
    assert.ok(asked);
    assert.deepEqual(
      {
        operation: asked.operation,
        name: asked.name,
        old: asked.old?.metadata.name,
        dryRun: asked.dryRun,
        options: asked.options.kind,
      },
      want,
    );
    assert.equal(asked.namespace, "default");
    assert.equal(asked.user.name, "tester");
    assert.equal(asked.object === undefined, asked.operation === "DELETE");
  });
}

/** Keeps what mutating admission was asked about. */
function recordingPlugin(): AdmissionPlugin & { readonly requests: AdmissionRequest[] } {
  const requests: AdmissionRequest[] = [];
  return {
    name: "Recorder",
    requests,
    admit: (request) => {
      requests.push(request);
      return undefined;
    },
  };
}
