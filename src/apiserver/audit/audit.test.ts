import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { ApiRequest, RequestInfo } from "../request/request.ts";
import { Audit } from "./audit.ts";
import { legacyLine } from "./legacy-line.ts";
import { LogFile } from "./log-file.ts";
import { type AuditPolicy, type AuditRule, auditScope, readAuditPolicy } from "./policy.ts";
import { truncateEvent } from "./truncate.ts";

const user = { name: "alice", uid: "u", groups: ["dev", "system:authenticated"] };
const info: RequestInfo = {
  isResource: true,
  verb: "create",
  path: "/api/v1/namespaces/ns/pods",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "",
  rest: [],
};
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", managedFields: [{}] },
};
const request: ApiRequest = {
  method: "POST",
  path: info.path,
  query: new URLSearchParams("dryRun=All"),
  headers: { "user-agent": "kubectl", "x-forwarded-for": "192.0.2.1, 192.0.2.2" },
  body: { form: "bytes", bytes: Buffer.from(JSON.stringify(pod)) },
  peer: { address: "::ffff:127.0.0.1" },
  signal: new AbortController().signal,
};

describe("audit: the policy", () => {
  const cases: {
    name: string;
    rule: Partial<AuditRule>;
    asked?: Partial<RequestInfo>;
    fits: boolean;
  }[] = [
    { name: "everything", rule: {}, fits: true },
    { name: "a user", rule: { users: ["alice"] }, fits: true },
    { name: "another user", rule: { users: ["bob"] }, fits: false },
    { name: "a group", rule: { userGroups: ["dev"] }, fits: true },
    { name: "another verb", rule: { verbs: ["get"] }, fits: false },
    { name: "a resource", rule: { resources: [{ group: "", resources: ["pods"] }] }, fits: true },
    { name: "a group of resources", rule: { resources: [{ group: "apps" }] }, fits: false },
    {
      name: "not a subresource",
      rule: { resources: [{ resources: ["pods"] }] },
      asked: { subresource: "log" },
      fits: false,
    },
    {
      name: "all subresources",
      rule: { resources: [{ resources: ["pods/*"] }] },
      asked: { subresource: "log" },
      fits: true,
    },
    {
      name: "a subresource of all",
      rule: { resources: [{ resources: ["*/log"] }] },
      asked: { subresource: "log" },
      fits: true,
    },
    {
      name: "a name",
      rule: { resources: [{ resources: ["pods"], resourceNames: ["a"] }] },
      asked: { name: "b" },
      fits: false,
    },
    { name: "a namespace", rule: { namespaces: ["ns"] }, fits: true },
    {
      name: "a path",
      rule: { nonResourceURLs: ["/healthz*"] },
      asked: { isResource: false, path: "/healthz/etcd" },
      fits: true,
    },
  ];
  for (const { name, rule, asked, fits } of cases) {
    test(`a rule for ${name} ${fits ? "fits" : "does not fit"}`, () => {
      const policy: AuditPolicy = { rules: [{ level: "Request", ...rule }] };
      const { level } = auditScope(policy, { ...info, ...asked }, user);
      assert.equal(level, fits ? "Request" : "None");
    });
  }

  test("errors of a policy file name the field path", () => {
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["Never"],
      rules: [{ level: "Everything" }, { level: "None", nonResourceURLs: ["healthz"] }],
    };
    const seen: string[] = [];
    const read = (document: object) =>
      readAuditPolicy(JSON.stringify(document), "p.yaml", (faults) => void seen.push(faults));
    assert.throws(
      () => read(policy),
      /loading audit policy file: \[omitStages\[0\]: Invalid value: "Never".*rules\[0\]\.level: Unsupported value: "Everything".*rules\[1\]\.nonResourceURLs\[0\]: Invalid value: "healthz".*: from file p\.yaml$/,
    );
    assert.throws(() => read({}), /failed decoding: Object 'Kind' is missing in '\{\}': from file/);
    assert.throws(
      () => read({ ...policy, omitStages: [], rules: [] }),
      /illegal policy with 0 rules/,
    );
    assert.throws(() => read({ ...policy, rules: "all" }), /cannot unmarshal string into Go/);
    assert.deepEqual(seen, []);
    const known = { ...policy, omitStages: [], rules: [{ level: "Metadata", verb: "get" }] };
    assert.deepEqual(read(known).rules, [{ level: "Metadata" }]);
    assert.deepEqual(seen, ['strict decoding error: unknown field "rules[0].verb"']);
  });
});

describe("events", () => {
  function trail(rule: Partial<AuditRule>, policy: Partial<AuditPolicy> = {}) {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const events: Record<string, unknown>[] = [];
    const audit = new Audit({
      policy: { rules: [{ level: "Metadata", ...rule }], ...policy },
      clock,
      random: seededRandom(1),
      write: (line) => {
        assert.ok(line.endsWith("\n") && !line.slice(0, -1).includes("\n"));
        events.push(JSON.parse(line));
      },
    });
    const one = audit.begin(request, info, { user }, clock.nowMs())!;
    one.received();
    return { events, trail: one, clock };
  }

  test("one audit event per stage, with user, objectRef and responseStatus", () => {
    const { events, trail: one } = trail({});
    one.annotate("authorization.k8s.io/decision", "allow");
    one.completed({ code: 201, object: () => pod });
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["RequestReceived", "ResponseComplete"],
    );
    assert.deepEqual(events[1], {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: "72f0fd39-6070-40a9-bf80-ed531e5ee7fc",
      stage: "ResponseComplete",
      requestURI: "/api/v1/namespaces/ns/pods?dryRun=All",
      verb: "create",
      user: { username: "alice", uid: "u", groups: ["dev", "system:authenticated"] },
      sourceIPs: ["192.0.2.1", "192.0.2.2", "127.0.0.1"],
      userAgent: "kubectl",
      objectRef: { resource: "pods", namespace: "ns", apiVersion: "v1" },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: "2030-01-01T00:00:00.000000Z",
      stageTimestamp: "2030-01-01T00:00:00.000000Z",
      annotations: { "authorization.k8s.io/decision": "allow" },
    });
  });

  test("requestObject and responseObject by audit level", () => {
    for (const [level, seen] of [
      ["Metadata", [false, false]],
      ["Request", [true, false]],
      ["RequestResponse", [true, true]],
    ] as const) {
      const { events, trail: one } = trail({ level });
      one.sent();
      one.completed({ code: 201, object: () => pod });
      const { requestObject, responseObject } = events[1]!;
      assert.deepEqual([requestObject !== undefined, responseObject !== undefined], seen, level);
    }
  });

  test("requestObject is the decoded request body", () => {
    const { events, trail: one } = trail({ level: "Request" });
    const understood = { kind: "Pod", apiVersion: "v1", spec: { restartPolicy: "Always" } };
    const draft = structuredClone(understood);
    one.sent(draft);
    draft.spec.restartPolicy = "Never"; // what becomes of it later is not what was sent
    one.completed({ code: 201 });
    assert.deepEqual(events.at(-1)!.requestObject, understood);
  });

  test("objectRef has the object's metadata at every level, but not if the body was not read", () => {
    const { events, trail: one } = trail({ level: "Metadata" });
    one.sent({ metadata: { name: "p", namespace: "ns", resourceVersion: "7" } });
    one.completed({ code: 201 });
    const { objectRef, requestObject } = events[1]!;
    const where = { resource: "pods", namespace: "ns", apiVersion: "v1" };
    assert.deepEqual(objectRef, { ...where, name: "p", resourceVersion: "7" });
    assert.equal(requestObject, undefined);
    const unread = trail({ level: "Request" });
    unread.trail.completed({ code: 403 });
    assert.equal(unread.events[1]!.requestObject, undefined);
  });

  test("slow requests have the latency annotation", async () => {
    const { events, trail: one, clock } = trail({});
    await clock.advance(1500);
    one.completed({ code: 200 });
    assert.deepEqual(events[1]!.annotations, { "apiserver.latency.k8s.io/total": "1.5s" });
  });

  test("impersonatedUser is set after the stage RequestReceived", () => {
    const events: Record<string, unknown>[] = [];
    const audit = new Audit({
      policy: { rules: [{ level: "Metadata" }] },
      clock: new VirtualClock(0),
      random: seededRandom(1),
      write: (line) => void events.push(JSON.parse(line)),
    });
    const asker = { user, impersonated: { name: "bob", groups: [] } };
    const one = audit.begin(request, info, asker, 0)!;
    one.received();
    one.completed({ code: 200 });
    assert.deepEqual(
      events.map(({ impersonatedUser }) => impersonatedUser),
      [undefined, { username: "bob" }],
    );
  });

  test("omitManagedFields drops metadata.managedFields, omitStages drops stages", () => {
    const { events, trail: one } = trail(
      { level: "RequestResponse", omitManagedFields: true },
      { omitStages: ["RequestReceived"] },
    );
    one.sent();
    one.completed({ code: 201, object: () => ({ items: [pod], metadata: {} }) });
    const [event] = events;
    const { metadata, ...rest } = pod;
    const bare = { ...rest, metadata: { name: metadata.name, namespace: metadata.namespace } };
    assert.deepEqual(event!.requestObject, bare);
    assert.deepEqual(event!.responseObject, { items: [bare], metadata: {} });
  });

  test("requests that fail authentication are logged", () => {
    const events: Record<string, unknown>[] = [];
    const audit = new Audit({
      policy: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      clock: new VirtualClock("2030-01-01T00:00:00Z"),
      random: seededRandom(1),
      write: (line) => void events.push(JSON.parse(line)),
    });
    const bad = { ...request, headers: { authorization: "Bearer x" } };
    const status = { metadata: {}, status: "Failure", message: "Unauthorized", code: 401 };
    audit.refused(bad, info, { refused: undefined, status }, 0);
    const { stage, user: anonymous, responseStatus } = events[0]!;
    assert.deepEqual([stage, anonymous], ["ResponseStarted", {}]);
    assert.deepEqual(responseStatus, {
      metadata: {},
      status: "Failure",
      message: "Unauthorized",
      code: 401,
    });
  });

  test("responseStatus has the reason of a failure", () => {
    const { events, trail: one } = trail({});
    const status = {
      metadata: {},
      status: "Failure",
      reason: "Forbidden",
      message: "no",
      code: 403,
    };
    one.completed({ code: 403, status });
    assert.deepEqual(events[1]!.responseStatus, {
      metadata: {},
      status: "Failure",
      message: "no",
      reason: "Forbidden",
      code: 403,
    });
  });
});

describe("the file", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "audit-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("audit log: lines keep their order, and a full file is rotated", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const path = join(folder, "deep", "audit.log");
    const log = new LogFile({
      path,
      bytesMax: 10,
      backupsMax: 2,
      ageDaysMax: 0,
      clock,
      logger: silentLogger,
    });
    for (const line of ["aaaa\n", "bbbb\n"]) log.write(line);
    await log.close();
    for (const line of ["cccc\n", "dddd\n", "eeee\n"]) {
      log.write(line);
      await log.close();
      await clock.advance(1000);
    }
    assert.equal(readFileSync(path, "utf8"), "eeee\n");
    const kept = readdirSync(join(folder, "deep")).sort();
    assert.deepEqual(kept, [
      "audit-2030-01-01T00-00-00.000.log",
      "audit-2030-01-01T00-00-02.000.log",
      "audit.log",
    ]);
    assert.equal(readFileSync(join(folder, "deep", kept[0]!), "utf8"), "aaaa\nbbbb\n");
    assert.equal(readFileSync(join(folder, "deep", kept[1]!), "utf8"), "cccc\ndddd\n");
  });

  test("audit log: rotated files may be compressed", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const path = join(folder, "audit.log");
    const limits = { bytesMax: 5, backupsMax: 1, ageDaysMax: 0, compress: true };
    const log = new LogFile({ path, ...limits, clock, logger: silentLogger });
    for (const line of ["aaaa\n", "bbbb\n", "cccc\n"]) {
      log.write(line);
      await log.close();
      await clock.advance(1000);
    }
    const kept = readdirSync(folder).sort();
    assert.deepEqual(kept, ["audit-2030-01-01T00-00-02.000.log.gz", "audit.log"]);
    assert.equal(String(gunzipSync(readFileSync(join(folder, kept[0]!)))), "bbbb\n");
  });
});

test("long events are truncated: objects are dropped first, then the event", () => {
  const event = { level: "Request", requestObject: "x".repeat(200), annotations: { a: "b" } };
  const line = `${JSON.stringify(event)}\n`;
  assert.equal(truncateEvent(line, 1000), line);
  assert.deepEqual(JSON.parse(truncateEvent(line, 100)!), {
    level: "Request",
    annotations: { a: "b", "audit.k8s.io/truncated": "true" },
  });
  assert.equal(truncateEvent(line, 10), undefined);
});

test("events in plain text", () => {
  const event = {
    auditID: "id",
    stage: "ResponseComplete",
    verb: "get",
    requestURI: "/x?a=b",
    user: { username: "jane", groups: ["a", "b"] },
    sourceIPs: ["192.0.2.1"],
    requestReceivedTimestamp: "2030-01-01T00:00:00.120000Z",
  };
  assert.equal(
    legacyLine(JSON.stringify(event)),
    '2030-01-01T00:00:00.12Z AUDIT: id="id" stage="ResponseComplete" ip="192.0.2.1" method="get" user="jane" groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/x?a=b" response="<deferred>"\n',
  );
});
