import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi, type TestApi } from "../api.testing.ts";
import { bodyOf, startHttpsServer, type TestHttpsServer } from "../webhook/https-server.testing.ts";
import { DEFINITIONS, define, definition, versionOf } from "./definition.testing.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects of both versions
type Json = any;

const V1 = "/apis/example.com/v1/namespaces/default/widgets";
const V2 = "/apis/example.com/v2/namespaces/default/widgets";
const MERGE = { "content-type": "application/merge-patch+json" };

/** v1 says `spec.size`, v2 says `spec.extent`. */
const sized = (field: string) => ({ type: "object", properties: { [field]: { type: "integer" } } });

interface Hook extends AsyncDisposable {
  readonly server: TestHttpsServer;
  /** `VERSION COUNT` of each call. */
  readonly calls: string[];
  answer: (review: Json) => Json;
}

async function startHook(): Promise<Hook> {
  const calls: string[] = [];
  const server = await startHttpsServer(["127.0.0.1"], async (request, response) => {
    const review: Json = JSON.parse(await bodyOf(request));
    calls.push(`${review.request.desiredAPIVersion} ${review.request.objects.length}`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(hook.answer(review)));
  });
  const hook: Hook = {
    server,
    calls,
    answer: converted,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return hook;
}

function converted({ apiVersion, kind, request }: Json): Json {
  const convertedObjects = request.objects.map((object: Json) => {
    const { size, extent, ...spec } = object.spec;
    const isFirst = request.desiredAPIVersion.endsWith("/v1");
    const field = isFirst ? { size: extent ?? size } : { extent: size ?? extent };
    return { ...object, apiVersion: request.desiredAPIVersion, spec: { ...spec, ...field } };
  });
  return {
    apiVersion,
    kind,
    response: { uid: request.uid, result: { status: "Success" }, convertedObjects },
  };
}

function webhookDefinition({ port, caBundle }: TestHttpsServer, storage: "v1" | "v2"): Json {
  return definition({
    versions: [
      versionOf("v1", { spec: sized("size"), storage: storage === "v1" }),
      versionOf("v2", { spec: sized("extent"), storage: storage === "v2" }),
    ],
    conversion: {
      strategy: "Webhook",
      webhook: {
        clientConfig: { url: `https://127.0.0.1:${port}/convert`, caBundle },
        conversionReviewVersions: ["v1"],
      },
    },
  });
}

const widget = (name: string, version: string, spec: Json): Json => ({
  apiVersion: `example.com/${version}`,
  kind: "Widget",
  metadata: { name },
  spec,
});

describe("conversion webhook (ConversionReview v1)", () => {
  test("field selectors of lists and watches are about the converted object", async () => {
    await using hook = await startHook();
    await using t = await startTestApi();
    const definition = webhookDefinition(hook.server, "v1");
    definition.spec.versions[0].selectableFields = [{ jsonPath: ".spec.size" }];
    definition.spec.versions[1].selectableFields = [{ jsonPath: ".spec.extent" }];
    await define(t, definition);
    for (const [name, size] of Object.entries({ a: 1, b: 2, c: 2 })) {
      await t.want(201, "POST", V1, { body: widget(name, "v1", { size }) });
    }
    const query = "fieldSelector=spec.extent%3D2";
    const names = ({ items }: Json) => items.map(({ metadata }: Json) => metadata.name);
    const first = await t.want(200, "GET", `${V2}?${query}&limit=1`);
    assert.deepEqual(names(first), ["b"]);
    const next = `${V2}?${query}&limit=1&continue=${first.metadata.continue}`;
    assert.deepEqual(names(await t.want(200, "GET", next)), ["c"]);
    using feed = await t.watch(
      `${V2}?watch=1&${query}&resourceVersion=${first.metadata.resourceVersion}`,
    );
    const patch = (size: number) => ({ body: { spec: { size } }, headers: MERGE });
    await t.want(200, "PATCH", `${V1}/a`, patch(2));
    await t.want(200, "PATCH", `${V1}/b`, patch(3));
    await t.want(200, "DELETE", `${V1}/c`);
    const seen: string[] = [];
    for (let tries = 0; seen.length < 3 && tries < 500; tries++) {
      const events = feed.pull(10);
      for (const event of events === "over" ? [] : events) {
        if (!("object" in event)) continue;
        const { metadata, spec }: Json = event.object.value;
        seen.push(`${event.type} ${metadata.name} ${spec.extent}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(seen, ["ADDED a 2", "DELETED b 2", "DELETED c 2"]);
  });

  test("create, get, list and patch in a version that is not stored", async () => {
    await using hook = await startHook();
    await using t = await startTestApi();
    await define(t, webhookDefinition(hook.server, "v1"));
    const made = await t.want(201, "POST", V2, { body: widget("a", "v2", { extent: 3 }) });
    assert.deepEqual([made.apiVersion, made.spec], ["example.com/v2", { extent: 3 }]);
    assert.deepEqual((await t.want(200, "GET", `${V1}/a`)).spec, { size: 3 });
    for (const name of ["b", "c"]) {
      await t.want(201, "POST", V1, { body: widget(name, "v1", { size: 1 }) });
    }
    hook.calls.length = 0;
    const list = await t.want(200, "GET", V2);
    assert.deepEqual(
      list.items.map(({ spec }: Json) => spec),
      [{ extent: 3 }, { extent: 1 }, { extent: 1 }],
    );
    assert.deepEqual(hook.calls, ["example.com/v2 2"]); // what was converted before is known
    const body = { spec: { extent: 5 } };
    const patched = await t.want(200, "PATCH", `${V2}/b`, { body, headers: MERGE });
    assert.deepEqual(patched.spec, { extent: 5 });
    assert.deepEqual((await t.want(200, "GET", `${V1}/b`)).spec, { size: 5 });
  });

  test("objects stored in an older version are converted on reads; an unchanged update stores them anew", async () => {
    await using hook = await startHook();
    await using t = await startTestApi();
    await define(t, webhookDefinition(hook.server, "v1"));
    await t.want(201, "POST", V1, { body: widget("a", "v1", { size: 3 }) });
    await storeIn(t, hook.server, "v2");
    assert.match(await storedText(t), /"apiVersion":"example.com\/v1"/);
    hook.calls.length = 0;
    const old = await t.want(200, "GET", `${V1}/a`);
    assert.deepEqual(old.spec, { size: 3 });
    assert.deepEqual(hook.calls, []); // it is stored in this version
    const found = await t.want(200, "GET", `${V2}/a`);
    assert.deepEqual([found.apiVersion, found.spec], ["example.com/v2", { extent: 3 }]);
    const list = await t.want(200, "GET", V2);
    assert.deepEqual(list.items[0].spec, { extent: 3 });
    using feed = await t.watch(
      `${V2}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    const events = feed.pull(10);
    const [first] = events === "over" ? [] : events;
    assert.ok(first !== undefined && "object" in first && first.type === "ADDED");
    assert.deepEqual((first.object.value as Json).spec, { extent: 3 });
    await t.want(200, "PUT", `${V2}/a`, { body: found });
    const text = await storedText(t);
    assert.match(text, /"apiVersion":"example.com\/v2".*"spec":\{"extent":3\}/);
  });

  const faults: { name: string; answer: (review: Json) => Json; message: RegExp }[] = [
    {
      name: "a refusal",
      answer: ({ request, ...review }) => ({
        ...review,
        response: { uid: request.uid, result: { status: "Failure", message: "no thanks" } },
      }),
      message: /^conversion webhook for example.com\/v2, Kind=Widget failed: no thanks$/,
    },
    {
      name: "another uid",
      answer: (review) => {
        const { response, ...rest } = converted(review);
        return { ...rest, response: { ...response, uid: "x" } };
      },
      message:
        /^conversion webhook for example.com\/v2, Kind=Widget failed: expected response.uid="[^"]+", got "x"$/,
    },
    {
      name: "too few objects",
      answer: ({ request, ...review }) => ({
        ...review,
        response: { uid: request.uid, result: { status: "Success" }, convertedObjects: [] },
      }),
      message:
        /^conversion webhook for example.com\/v2, Kind=Widget returned 0 objects, expected 1$/,
    },
    {
      name: "another name",
      answer: (review) => {
        const answer = converted(review);
        answer.response.convertedObjects[0].metadata.name = "other";
        return answer;
      },
      message:
        /^conversion webhook for example.com\/v2, Kind=Widget returned invalid object: must have the same name: a != other$/,
    },
    {
      name: "the version unchanged",
      answer: ({ request, ...review }) => ({
        ...review,
        response: {
          uid: request.uid,
          result: { status: "Success" },
          convertedObjects: request.objects,
        },
      }),
      message:
        /returned invalid object at index 0: invalid groupVersion \(expected example.com\/v1, received example.com\/v2\)$/,
    },
    {
      name: "no review",
      answer: () => ({ kind: "Pod", apiVersion: "v1" }),
      message:
        /failed: expected webhook response of apiextensions.k8s.io\/v1, Kind=ConversionReview, got v1, Kind=Pod$/,
    },
  ];
  test.each(faults)(
    "$name is answered with 500 and upstream's message",
    async ({ answer, message }) => {
      await using hook = await startHook();
      await using t = await startTestApi();
      await define(t, webhookDefinition(hook.server, "v1"));
      hook.answer = answer;
      const failed = await t.want(500, "POST", V2, { body: widget("a", "v2", { extent: 3 }) });
      assert.match(failed.message, message);
      await t.want(404, "GET", `${V1}/a`);
    },
  );

  test("a webhook that cannot be reached is named with its URL", async () => {
    await using t = await startTestApi();
    {
      await using hook = await startHook();
      await define(t, webhookDefinition(hook.server, "v1"));
    }
    const failed = await t.want(500, "POST", V2, { body: widget("a", "v2", { extent: 3 }) });
    const place = String.raw`Post "https://127\.0\.0\.1:\d+/convert\?timeout=30s": dial tcp 127\.0\.0\.1:\d+: connect: connection refused`;
    const text = `^conversion webhook for example.com/v2, Kind=Widget failed: ${place}$`;
    assert.match(failed.message, new RegExp(text));
  });
});

async function storeIn(t: TestApi, server: TestHttpsServer, version: "v1" | "v2"): Promise<void> {
  const { spec } = webhookDefinition(server, version);
  const url = `${DEFINITIONS}/widgets.example.com`;
  await t.want(200, "PATCH", url, { body: { spec }, headers: MERGE });
  for (let turn = 0; turn < 1000; turn++) {
    const stored = t.api.resources.resource("example.com", "widgets")?.stored.kind.version;
    if (stored === version) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail(`the stored version did not become ${version}`);
}

async function storedText({ store }: TestApi): Promise<string> {
  const { entry } = await store.get("/registry/example.com/widgets/default/a");
  return Buffer.from(entry!.value).toString();
}
