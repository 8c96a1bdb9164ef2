/** Which webhooks are called, in which version, and how, over real HTTPS. */
import assert from "node:assert/strict";
import { afterAll, beforeAll, beforeEach, describe, test } from "vitest";
import {
  bodyOf,
  startHttpsServer,
  type TestHttpsServer,
} from "../../webhook/https-server.testing.ts";
import {
  CONFIG_MAPS,
  type DynamicApi,
  type Json,
  startDynamicApi,
} from "../dynamic-admission.testing.ts";

const HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const SCALER = {
  metadata: { name: "web" },
  spec: {
    maxReplicas: 3,
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    metrics: [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 40 } },
      },
    ],
  },
};
const ruleOf = (group: string, version: string, resource: string): Json => ({
  ...{ apiGroups: [group], apiVersions: [version] },
  ...{ operations: ["CREATE"], resources: [resource] },
});

const reviews: Json[] = [];
const ports = new Set<number | undefined>();
let hook: TestHttpsServer;
/** Answers wait until so many requests have come. */
let together = 1;
let waiting: (() => void)[] = [];

beforeAll(async () => {
  hook = await startHttpsServer(["127.0.0.1", "hook.default.svc"], async (request, response) => {
    const review = JSON.parse(await bodyOf(request));
    reviews.push(review);
    ports.add(request.socket.remotePort);
    const { apiVersion, kind } = review;
    const answer = { apiVersion, kind, response: { uid: review.request.uid, allowed: true } };
    waiting.push(() => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    if (waiting.length < together) return;
    for (const reply of waiting) reply();
    waiting = [];
  });
});

afterAll(async () => {
  await hook[Symbol.asyncDispose]();
});

beforeEach(() => {
  reviews.length = 0;
  ports.clear();
  together = 1;
});

async function configure(api: DynamicApi, ...webhooks: readonly Json[]): Promise<void> {
  const body = {
    metadata: { name: "hooks" },
    webhooks: webhooks.map((more, n) => ({
      name: `hook-${n}.example.com`,
      clientConfig: { url: `https://127.0.0.1:${hook.port}/`, caBundle: hook.caBundle },
      ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
      rules: [ruleOf("", "v1", "configmaps")],
      ...more,
    })),
  };
  await api.want(201, "POST", HOOKS, { body });
}

const create = (api: DynamicApi, name: string) =>
  api.want(201, "POST", CONFIG_MAPS, { body: { metadata: { name } } });

describe("matchPolicy of a webhook whose rule names another version", () => {
  test("Equivalent: the webhook gets the object and the kind in the version of its rule", async () => {
    await using api = await startDynamicApi();
    const rules = [ruleOf("autoscaling", "v1", "horizontalpodautoscalers")];
    await configure(api, { rules, matchPolicy: "Equivalent" });
    await api.want(201, "POST", SCALERS, { body: SCALER });
    const [{ request }] = reviews;
    const versions = [request.kind, request.resource, request.requestKind, request.requestResource];
    assert.deepEqual(
      versions.map(({ version }) => version),
      ["v1", "v1", "v2", "v2"],
    );
    assert.equal(request.object.apiVersion, "autoscaling/v1");
    assert.equal(request.object.spec.targetCPUUtilizationPercentage, 40);
  });

  test("Exact: the webhook is not called", async () => {
    await using api = await startDynamicApi();
    const rules = [ruleOf("autoscaling", "v1", "horizontalpodautoscalers")];
    await configure(api, { rules, matchPolicy: "Exact" });
    await api.want(201, "POST", SCALERS, { body: SCALER });
    assert.deepEqual(reviews, []);
  });
});

test("validating webhooks are called in parallel: none waits for the answer of another", async () => {
  await using api = await startDynamicApi();
  together = 3;
  await configure(api, {}, {}, {});
  await create(api, "a");
  assert.equal(reviews.length, 3);
});

test("webhook calls one after the other use the same connection (keep-alive)", async () => {
  await using api = await startDynamicApi();
  await configure(api, {});
  for (const name of ["a", "b", "c"]) await create(api, name);
  assert.deepEqual([reviews.length, ports.size], [3, 1]);
});

test("clientConfig.service: the Service is resolved, and the certificate is for NAME.NAMESPACE.svc", async () => {
  await using api = await startDynamicApi();
  const spec = { type: "ExternalName", externalName: "localhost" };
  await api.want(201, "POST", "/api/v1/namespaces/default/services", {
    body: { metadata: { name: "hook" }, spec },
  });
  const service = { namespace: "default", name: "hook", port: hook.port };
  await configure(api, { clientConfig: { service, caBundle: hook.caBundle } });
  await create(api, "a");
  assert.equal(reviews.length, 1);
});
