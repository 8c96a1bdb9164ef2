/** Admission webhooks over real HTTPS. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, test, vi } from "vitest";
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

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const GROUP = "/apis/admissionregistration.k8s.io/v1";
const RULE = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps"],
};

type Answer = (review: Json) => Json;

const asked: Json[] = [];
let hook: TestHttpsServer;
let dripping: NodeJS.Timeout;
let endlessBytes = 0;
/** Paths whose answers were cut off by the API server. */
const closed: string[] = [];
const PIECE = Buffer.alloc(64 * 1024, "x");

function sendEndlessly(response: ServerResponse): void {
  do {
    if (response.destroyed) return;
    endlessBytes += PIECE.length;
  } while (response.write(PIECE));
  response.once("drain", () => sendEndlessly(response));
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  allow: () => ({ allowed: true }),
  deny: () => ({
    allowed: false,
    status: { message: "not on my watch", reason: "Forbidden", code: 403 },
  }),
  silent: () => ({ allowed: false }),
  label: ({ request }) =>
    patch([
      request.object.metadata.labels === undefined
        ? { op: "add", path: "/metadata/labels", value: { first: "yes" } }
        : { op: "add", path: "/metadata/labels/second", value: "yes" },
    ]),
  warn: () => ({ allowed: true, warnings: ["look out"], auditAnnotations: { seen: "1" } }),
  "wrong-uid": () => ({ allowed: true, uid: "other" }),
  "bad-patch": () => ({ allowed: true, patchType: "JSONPatch", patch: btoa("{") }),
  unpatchable: () => patch([{ op: "remove", path: "/data/missing" }]),
};

function patch(operations: Json): Json {
  return { allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(operations)) };
}

beforeAll(async () => {
  hook = await startHttpsServer(["127.0.0.1"], async (request, response) => {
    const review = JSON.parse(await bodyOf(request));
    const path = new URL(request.url ?? "", "https://hook").pathname.slice(1);
    asked.push({ path, review, url: request.url });
    const json = { "content-type": "application/json" };
    switch (path) {
      case "never":
        return;
      case "drip": // a byte now and then, without end
        response.writeHead(200, json).write("{");
        response.on("close", () => clearInterval(dripping));
        dripping = setInterval(() => response.write(" "), 5);
        return;
      case "endless":
        response.writeHead(200, json);
        response.on("close", () => closed.push(path));
        sendEndlessly(response);
        return;
      case "garbage":
        response.writeHead(200, json).end("<html>");
        return;
      case "huge":
        response.writeHead(200, json);
        response.end(`{"response": "${"x".repeat(17 * 1024 * 1024)}"}`);
        return;
      case "redirect":
        response.writeHead(302, { location: "/allow" }).end();
        return;
      case "broken":
        response.writeHead(500, { "content-type": "text/plain" }).end("on fire");
        return;
      case "empty":
        response.writeHead(200, json).end("{}");
        return;
    }
    const answer = ANSWERS[path]!;
    const { apiVersion, kind } = review;
    const uid = review.request.uid;
    response.writeHead(200, json);
    response.end(JSON.stringify({ apiVersion, kind, response: { uid, ...answer(review) } }));
  });
});

afterAll(async () => {
  await hook[Symbol.asyncDispose]();
});

function webhook(path: string, more: Json = {}): Json {
  const { clientConfig, ...rest } = more;
  return {
    name: `${path}.example.com`,
    clientConfig: {
      url: `https://127.0.0.1:${hook.port}/${path}`,
      caBundle: hook.caBundle,
      ...clientConfig,
    },
    rules: [RULE],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    ...rest,
  };
}

async function configure(
  api: DynamicApi,
  type: "validating" | "mutating",
  webhooks: readonly Json[],
  name = "hooks",
): Promise<void> {
  await api.want(201, "POST", `${GROUP}/${type}webhookconfigurations`, {
    body: { metadata: { name }, webhooks },
  });
}

const create = (api: DynamicApi, name: string, query = "") =>
  api.ask("POST", `${CONFIG_MAPS}${query}`, { body: { metadata: { name }, data: { x: "1" } } });

/** Creates an object; a webhook that never answers is given up when time has passed. */
async function answered(api: DynamicApi, path: string): ReturnType<typeof create> {
  asked.length = 0;
  const created = create(api, "a");
  if (path !== "never" && path !== "drip") return await created;
  await vi.waitFor(() => assert.equal(asked.length, 1), { timeout: 60_000 });
  await api.clock.advance(1_000);
  return await created;
}

const url = (path: string, timeout = 10) =>
  `https://127.0.0.1:${hook.port}/${path}?timeout=${timeout}s`;

const FAILURES: readonly {
  name: string;
  path: string;
  more?: Json;
  want: (path: string) => string;
}[] = [
  {
    name: "an authority that did not sign its certificate",
    path: "allow",
    more: { clientConfig: { caBundle: undefined } },
    want: (path) =>
      `failed to call webhook: Post "${url(path)}": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  },
  {
    name: "no answer in timeoutSeconds",
    path: "never",
    more: { timeoutSeconds: 1 },
    want: (path) => `failed to call webhook: Post "${url(path, 1)}": context deadline exceeded`,
  },
  {
    name: "an answer that has begun and does not end in timeoutSeconds",
    path: "drip",
    more: { timeoutSeconds: 1 },
    want: (path) => `failed to call webhook: Post "${url(path, 1)}": context deadline exceeded`,
  },
  {
    name: "an answer that is no JSON",
    path: "garbage",
    want: () => "failed to call webhook: couldn't get version/kind; json parse error: ",
  },
  {
    name: "an answer of 17 MiB",
    path: "huge",
    want: (path) => `failed to call webhook: Post "${url(path)}": the answer is longer than`,
  },
  {
    name: "a redirect, which is not followed",
    path: "redirect",
    want: () => "failed to call webhook: ",
  },
  {
    name: "status 500",
    path: "broken",
    want: () =>
      'failed to call webhook: an error on the server ("on fire") has prevented the request from succeeding',
  },
  {
    name: "an answer without response",
    path: "empty",
    want: () => "received invalid webhook response: webhook response was absent",
  },
  {
    name: "an answer to another question",
    path: "wrong-uid",
    want: () => "received invalid webhook response: expected response.uid=",
  },
];

describe("ValidatingAdmissionWebhook", () => {
  test("is asked with an AdmissionReview v1; allowed creates the object", async () => {
    await using api = await startDynamicApi();
    await configure(api, "validating", [webhook("allow", { timeoutSeconds: 7 })]);
    asked.length = 0;
    assert.equal((await create(api, "a", "?fieldManager=me")).code, 201);
    const [{ review, url: called }] = asked;
    const { uid, userInfo, object, ...request } = review.request;
    assert.equal(called, "/allow?timeout=7s");
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.ok(userInfo.groups.length > 0);
    assert.equal(object.metadata.name, "a");
    assert.match(object.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.deepEqual([object.apiVersion, object.kind], ["v1", "ConfigMap"]);
    const kind = { group: "", version: "v1", kind: "ConfigMap" };
    const resource = { group: "", version: "v1", resource: "configmaps" };
    assert.deepEqual(
      { ...review, request },
      {
        kind: "AdmissionReview",
        apiVersion: "admission.k8s.io/v1",
        request: {
          kind,
          resource,
          requestKind: kind,
          requestResource: resource,
          name: "a",
          namespace: "default",
          operation: "CREATE",
          oldObject: null,
          dryRun: false,
          options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
        },
      },
    );
  });

  test("webhooks that never answer or answer without end hold up no other request, and the answer is cut off", async () => {
    await using api = await startDynamicApi();
    const only = (name: string): Json => ({
      matchConditions: [{ name: "only", expression: `object.metadata.name == '${name}'` }],
    });
    const hooks = [webhook("never", only("slow")), webhook("endless", only("huge"))];
    await configure(api, "validating", hooks);
    asked.length = 0;
    closed.length = 0;
    endlessBytes = 0;
    let isAnswered = false;
    const slow = create(api, "slow").finally(() => {
      isAnswered = true;
    });
    const huge = create(api, "huge");
    await vi.waitFor(() => assert.equal(asked.length, 2), { timeout: 60_000 });
    for (let n = 0; n < 20; n++) assert.equal((await create(api, `other-${n}`)).code, 201);
    const { code, body } = await huge;
    assert.equal(code, 500);
    assert.match(body.message, /failed calling webhook "endless.example.com": .* is longer than/);
    await vi.waitFor(() => assert.deepEqual(closed, ["endless"]), { timeout: 60_000 });
    assert.ok(endlessBytes < 2 * ANSWER_BYTES_MAX, `${endlessBytes} bytes were taken`);
    assert.equal(isAnswered, false);
    await api.clock.advance(10_000);
    assert.equal((await slow).code, 500);
  });

  test("denied: the webhook's status with its code; without explanation 400", async () => {
    await using api = await startDynamicApi();
    await configure(api, "validating", [webhook("deny"), webhook("silent")]);
    const { code, body } = await create(api, "a");
    assert.equal(code, 403);
    assert.deepEqual(body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'admission webhook "deny.example.com" denied the request: not on my watch',
      reason: "Forbidden",
      code: 403,
    });
    await api.want(200, "DELETE", `${GROUP}/validatingwebhookconfigurations/hooks`);
    await configure(api, "validating", [webhook("silent")]);
    const silent = await create(api, "a");
    assert.equal(silent.code, 400);
    const by = 'admission webhook "silent.example.com" denied the request without explanation';
    assert.equal(silent.body.message, by);
    const text = api.metrics.text();
    assert.match(
      text,
      /apiserver_admission_webhook_rejection_count\{error_type="no_error",name="deny.example.com",operation="CREATE",rejection_code="403",type="validating"\} 1/,
    );
    assert.match(
      text,
      /apiserver_admission_webhook_request_total\{code="403",name="deny.example.com",operation="CREATE",rejected="true",type="validating"\} 1/,
    );
  });

  for (const { name, path, more, want } of FAILURES) {
    test(`failurePolicy Fail and Ignore: ${name}`, async () => {
      await using api = await startDynamicApi();
      await configure(api, "validating", [webhook(path, more)]);
      const { code, body } = await answered(api, path);
      assert.equal(code, 500);
      const message = `Internal error occurred: failed calling webhook "${path}.example.com": ${want(path)}`;
      assert.ok(body.message.startsWith(message), body.message);
      await api.want(200, "DELETE", `${GROUP}/validatingwebhookconfigurations/hooks`);
      await configure(api, "validating", [webhook(path, { ...more, failurePolicy: "Ignore" })]);
      assert.equal((await answered(api, path)).code, 201);
      assert.match(api.metrics.text(), /apiserver_admission_webhook_fail_open_count\{.*\} 1/);
      assert.equal(
        api.annotations.at(-1)?.["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"],
        `${path}.example.com`,
      );
    });
  }

  test("warnings and audit annotations of the answer", async () => {
    await using api = await startDynamicApi();
    await configure(api, "validating", [webhook("warn")]);
    assert.deepEqual((await create(api, "a")).warnings, ["look out"]);
    assert.equal(api.annotations.at(-1)?.["warn.example.com/seen"], "1");
  });

  test("dry run: webhooks with side effects refuse it, others get dryRun: true", async () => {
    await using api = await startDynamicApi();
    const effects = webhook("allow", { sideEffects: "NoneOnDryRun" });
    await configure(api, "validating", [effects]);
    asked.length = 0;
    assert.equal((await create(api, "a", "?dryRun=All")).code, 201);
    assert.equal(asked[0].review.request.dryRun, true);
  });

  test("matchConditions, objectSelector and namespaceSelector decide whether it is called", async () => {
    await using api = await startDynamicApi();
    const condition = (expression: string) => ({
      matchConditions: [{ name: "c", expression }],
    });
    await configure(api, "validating", [
      webhook("deny", condition("object.metadata.name == 'b'")),
      webhook("deny", { name: "o.example.com", objectSelector: { matchLabels: { a: "b" } } }),
      webhook("deny", {
        name: "n.example.com",
        namespaceSelector: { matchLabels: { team: "red" } },
      }),
      webhook("deny", { name: "s.example.com", rules: [{ ...RULE, scope: "Cluster" }] }),
    ]);
    assert.equal((await create(api, "a")).code, 201);
    assert.equal((await create(api, "b")).code, 403);
    await api.want(200, "DELETE", `${GROUP}/validatingwebhookconfigurations/hooks`);
    await configure(api, "validating", [webhook("allow", condition("object.data.missing == 'b'"))]);
    const { code, body } = await create(api, "c");
    assert.equal(code, 403);
    assert.match(
      body.message,
      /^configmaps "c" is forbidden: expression 'object.data.missing == 'b'' resulted in error: no such key: missing$/,
    );
  });

  test("webhook configurations are not subject to webhooks", async () => {
    await using api = await startDynamicApi();
    const all = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] };
    await configure(api, "validating", [webhook("deny", { rules: [all] })]);
    assert.equal((await create(api, "a")).code, 403);
    await api.want(200, "DELETE", `${GROUP}/validatingwebhookconfigurations/hooks`);
    assert.equal((await create(api, "a")).code, 201);
  });

  test("CONNECT: exec is denied, and the review has the options of the query", async () => {
    await using api = await startDynamicApi();
    const rule = {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CONNECT"],
      resources: ["pods/exec"],
    };
    await api.want(201, "POST", "/api/v1/namespaces/default/pods", {
      body: { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "i" }] } },
    });
    await configure(api, "validating", [webhook("deny", { rules: [rule] })]);
    asked.length = 0;
    const exec =
      "/api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&stdout=true&container=a";
    assert.equal((await api.ask("POST", exec)).code, 403);
    const { kind, subResource, object, options, operation, name } = asked[0].review.request;
    assert.deepEqual(
      [kind.kind, subResource, operation, name, options],
      ["PodExecOptions", "exec", "CONNECT", "p", null],
    );
    assert.deepEqual([object.command, object.stdout, object.container], [["ls", "-l"], true, "a"]);
  });

  test("AdmissionReview v1beta1 where the webhook only knows that", async () => {
    await using api = await startDynamicApi();
    await configure(api, "validating", [
      webhook("deny", { admissionReviewVersions: ["v2", "v1beta1"] }),
    ]);
    asked.length = 0;
    assert.equal((await create(api, "a")).code, 403);
    assert.equal(asked[0].review.apiVersion, "admission.k8s.io/v1beta1");
  });
});

describe("MutatingAdmissionWebhook", () => {
  test("patches are applied in order, and reinvocationPolicy IfNeeded calls again", async () => {
    await using api = await startDynamicApi();
    await configure(api, "mutating", [
      webhook("allow", { reinvocationPolicy: "IfNeeded" }),
      webhook("label"),
      webhook("warn", { reinvocationPolicy: "Never" }),
    ]);
    asked.length = 0;
    const { code, body } = await create(api, "a");
    assert.equal(code, 201, JSON.stringify(body));
    assert.deepEqual(body.metadata.labels, { first: "yes" });
    assert.deepEqual(
      asked.map(({ path }) => path),
      ["allow", "label", "warn", "allow"],
    );
    assert.deepEqual(asked[2].review.request.object.metadata.labels, { first: "yes" });
    assert.deepEqual(
      JSON.parse(api.annotations.at(-1)?.["patch.webhook.admission.k8s.io/round_0_index_1"] ?? ""),
      {
        configuration: "hooks",
        webhook: "label.example.com",
        patch: [{ op: "add", path: "/metadata/labels", value: { first: "yes" } }],
        patchType: "JSONPatch",
      },
    );
    assert.equal(
      api.annotations.at(-1)?.["mutation.webhook.admission.k8s.io/round_0_index_1"],
      '{"configuration":"hooks","webhook":"label.example.com","mutated":true}',
    );
  });

  test("configurations are called in the order of their names", async () => {
    await using api = await startDynamicApi();
    await configure(api, "mutating", [webhook("label")], "b");
    await configure(api, "mutating", [webhook("label")], "a");
    const { body } = await create(api, "a");
    assert.deepEqual(body.metadata.labels, { first: "yes", second: "yes" });
  });

  test("a patch that cannot be read fails the call; one that cannot be applied is an error", async () => {
    await using api = await startDynamicApi();
    await configure(api, "mutating", [webhook("bad-patch")]);
    const bad = await create(api, "a");
    assert.match(
      bad.body.message,
      /failed calling webhook "bad-patch.example.com": received undecodable patch in webhook response: /,
    );
    await api.want(200, "DELETE", `${GROUP}/mutatingwebhookconfigurations/hooks`);
    await configure(api, "mutating", [webhook("unpatchable", { failurePolicy: "Ignore" })]);
    const unpatchable = await create(api, "a");
    assert.equal(unpatchable.code, 500);
    assert.match(
      unpatchable.body.message,
      /^Internal error occurred: error in remove for path: '\/data\/missing': Unable to remove nonexistent key: missing: missing value$/,
    );
  });

  test("validating webhooks see what mutating ones made, and a denial stores nothing", async () => {
    await using api = await startDynamicApi();
    await configure(api, "mutating", [webhook("label")]);
    await configure(api, "validating", [webhook("deny")]);
    asked.length = 0;
    assert.equal((await create(api, "a")).code, 403);
    assert.deepEqual(asked.at(-1)?.review.request.object.metadata.labels, { first: "yes" });
    await api.want(404, "GET", `${CONFIG_MAPS}/a`);
  });
});
