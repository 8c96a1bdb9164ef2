/**
 * The requests that a hostile client sends to keep a server from serving others. Each is within the
 * limits of upstream's API server: 1 MB of headers, 3 MB of body.
 */
import { head, openRaw, sendRaw, type Target } from "./raw-request.ts";

export interface Attack {
  readonly name: string;
  readonly by: "anonymous" | "a user" | "an editor";
  /** The longest that another client's GET may wait. */
  readonly wishMs: number;
  /** Pods that there are before it begins; 1 unless given. */
  readonly pods?: number;
  /** Resolves when the attack is over: all was answered, or refused. */
  send(target: Target, scale: Scale): Promise<void>;
}

/** How much of an attack is sent; the tests send less than the benchmark. */
export interface Scale {
  readonly connections: number;
}

/** A pod that has to be there. */
export const VICTIM = "victim";

const MEGABYTE = 1024 * 1024;
const WISH_MS = 100;
const LARGE_BODY_WISH_MS = 200;
const LARGE_BODY_BYTES = 1_000_000;

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const PODS = "/api/v1/namespaces/default/pods";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

export const ATTACKS: readonly Attack[] = [
  oneRequest("10,000 Impersonate-Extra headers", "anonymous", () => ({
    head: manyHeaders(10_000, (n) => `Impersonate-Extra-k${n}: v`),
  })),
  oneRequest("1 MB of tiny headers", "anonymous", () => ({
    head: manyHeaders(140_000, (n) => `${n.toString(36)}:`),
  })),
  oneRequest("1 MB of one header in many lines", "anonymous", () => ({
    head: manyHeaders(60_000, () => "Accept: a/b"),
  })),
  {
    name: "half-sent bodies of 3 MB",
    by: "anonymous",
    wishMs: WISH_MS,
    send: (target, { connections }) => halfSent(target, connections, post(3 * MEGABYTE), 2.9),
  },
  {
    name: "half-sent heads of 900 KB",
    by: "anonymous",
    wishMs: WISH_MS,
    send: (target, { connections }) =>
      halfSent(target, connections, "GET /readyz HTTP/1.1\r\nHost: x\r\nA: ", 0.9),
  },
  oneRequest("/readyz?timeout=1h1h1h… 900 KB", "anonymous", () => ({
    head: head("GET", `/readyz?timeout=${"1h".repeat(450_000)}`),
  })),
  oneRequest("a query of 400,000 parameters", "anonymous", () => ({
    head: head("GET", `/readyz?${"a&".repeat(400_000)}`),
  })),
  oneRequest("a path of 900 KB of slashes", "anonymous", () => ({
    head: head("GET", `/${"a/".repeat(450_000)}`),
  })),
  oneRequest("Accept with 300,000 media types", "anonymous", () => ({
    head: head("GET", "/readyz", { Accept: "a,".repeat(300_000) }),
  })),
  {
    name: "TLS handshakes on many connections at once",
    by: "anonymous",
    wishMs: WISH_MS,
    send: handshakes,
  },
  oneRequest("2.9 MB YAML flat map to selfsubjectaccessreviews", "a user", () => ({
    path: REVIEWS,
    type: "application/yaml",
    body: lines(2.9, (n) => `k${n}: v\n`),
  })),
  oneRequest("2.8 MB of [[[[ to selfsubjectaccessreviews", "a user", () => ({
    path: REVIEWS,
    body: "[".repeat(2.8 * MEGABYTE),
  })),
  oneRequest("2.8 MB of [[[[ in YAML", "a user", () => ({
    path: REVIEWS,
    type: "application/yaml",
    body: "[".repeat(2.8 * MEGABYTE),
  })),
  oneRequest("2.9 MB of unknown fields to selfsubjectaccessreviews", "a user", () => ({
    path: REVIEWS,
    body: `{${lines(2.9, (n) => `"k${n}":1,`)}"z":1}`,
  })),
  oneRequest("labelSelector=,,,, 800 KB", "a user", () => ({
    head: head("GET", `${PODS}?labelSelector=${",".repeat(800_000)}`),
  })),
  oneRequest("labelSelector of 200,000 requirements", "a user", () => ({
    head: head("GET", `${PODS}?labelSelector=${"a=b,".repeat(200_000)}a=b`),
  })),
  {
    ...oneRequest("a list of 20,000 pods by labels", "a user", () => ({
      head: head("GET", `${PODS}?labelSelector=a%3Db`),
    })),
    pods: 20_000,
  },
  {
    ...oneRequest("a list of 20,000 pods by 5,000 requirements", "a user", () => ({
      head: head("GET", `${PODS}?limit=1&labelSelector=zz,${numbered(5_000, (n) => `!a${n}`)}`),
    })),
    pods: 20_000,
  },
  oneRequest("fieldSelector=,,,, 800 KB", "a user", () => ({
    head: head("GET", `${PODS}?fieldSelector=${",".repeat(800_000)}`),
  })),
  {
    name: "20 parallel GETs of /openapi/v2",
    by: "a user",
    wishMs: WISH_MS,
    send: async (target) => {
      await Promise.all(
        Array.from({ length: 20 }, () =>
          sendRaw(target, target.identity, head("GET", "/openapi/v2", ACCEPT_JSON)),
        ),
      );
    },
  },
  oneRequest("pod with 900,000 empty containers", "an editor", () => ({
    path: PODS,
    body: podWith(`"containers":[${"{},".repeat(900_000)}{}]`),
  })),
  oneRequest("pod with 900,000 empty volumes in Strict mode", "an editor", () => ({
    path: `${PODS}?fieldValidation=Strict`,
    body: podWith(`"containers":[{"name":"a","image":"a"}],"volumes":[${"{},".repeat(900_000)}{}]`),
  })),
  oneRequest("pod with 100,000 valid containers", "an editor", () => ({
    path: PODS,
    body: podWith(`"containers":[${numbered(100_000, (n) => `{"name":"a${n}","image":"b"}`)}]`),
  })),
  oneRequest("pod with 100,000 environment variables", "an editor", () => ({
    path: PODS,
    body: podWith(
      `"containers":[{"name":"a","image":"a","env":[${numbered(100_000, (n) => `{"name":"A${n}"}`)}]}]`,
    ),
  })),
  oneRequest("pod with 200,000 finalizers", "an editor", () => ({
    path: PODS,
    body: `{"metadata":{"name":"x","finalizers":[${numbered(200_000, (n) => `"${n}"`)}]},"spec":{"containers":[{"name":"a","image":"a"}]}}`,
  })),
  oneRequest("ConfigMap with 200,000 labels", "an editor", () => ({
    path: CONFIG_MAPS,
    body: `{"metadata":{"name":"x","labels":{${numbered(200_000, (n) => `"a${n}":""`)}}}}`,
  })),
  oneRequest("pod with 8,000 managedFields entries", "an editor", () => ({
    path: PODS,
    body: managedPod(8_000),
  })),
  patch("JSON patch that shifts a large array 9,900 times", "application/json-patch+json", () =>
    shifting(1_000_000),
  ),
  patch(
    "merge patch of 240,000 unknown keys",
    "application/merge-patch+json",
    () => `{${numbered(240_000, (n) => `"k${n}":1`)}}`,
  ),
  patch(
    "strategic merge patch of 100,000 containers",
    "application/strategic-merge-patch+json",
    () => `{"spec":{"containers":[${numbered(9_900, (n) => `{"name":"a${n}","a":1,"b":2}`)}]}}`,
  ),
  patch("server-side apply of 60,000 keys", "application/apply-patch+yaml", () => {
    const labels = numbered(60_000, (n) => `"a${n}":"b"`);
    return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${VICTIM}","annotations":{${labels}}}}`;
  }),
  oneRequest("pod with 10,000 empty containers", "an editor", () => ({
    path: PODS,
    body: podWith(`"containers":[${"{},".repeat(9_999)}{}]`),
  })),
  oneRequest("pod with 9,900 valid containers", "an editor", () => ({
    path: PODS,
    body: podWith(`"containers":[${numbered(9_900, (n) => `{"name":"a${n}","image":"b"}`)}]`),
  })),
  oneRequest("pod with 9,900 environment variables", "an editor", () => ({
    path: PODS,
    body: podWith(
      `"containers":[{"name":"a","image":"a","env":[${numbered(9_900, (n) => `{"name":"A${n}"}`)}]}]`,
    ),
  })),
  oneRequest("pod with 64,000 finalizers", "an editor", () => ({
    path: PODS,
    body: `{"metadata":{"name":"x","finalizers":[${numbered(64_000, (n) => `"${n}"`)}]},"spec":{"containers":[{"name":"a","image":"a"}]}}`,
  })),
  oneRequest("ConfigMap with 64,000 labels", "an editor", () => ({
    path: CONFIG_MAPS,
    body: `{"metadata":{"name":"x","labels":{${numbered(64_000, (n) => `"a${n}":""`)}}}}`,
  })),
  oneRequest("ConfigMap with 60,000 keys", "an editor", () => ({
    path: CONFIG_MAPS,
    body: `{"metadata":{"name":"x"},"data":{${numbered(60_000, (n) => `"a${n}":""`)}}}`,
  })),
  oneRequest("ValidatingAdmissionPolicy of 9,900 expressions", "an editor", () => ({
    path: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    body: policyWith(numbered(9_900, (n) => `{"expression":"object.metadata.name.size()>${n}"}`)),
  })),
  oneRequest("CustomResourceDefinition of 5,000 rules", "an editor", () => ({
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body: definitionWith(
      `"properties":{"a":{"type":"integer"}},` +
        `"x-kubernetes-validations":[${numbered(5_000, (n) => `{"rule":"self.a>${n}"}`)}]`,
    ),
  })),
  oneRequest("CustomResourceDefinition of 30,000 properties", "an editor", () => ({
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body: definitionWith(`"properties":{${numbered(30_000, (n) => `"a${n}":{"type":"integer"}`)}}`),
  })),
  customResource("custom resource of 250,000 wrong items", () => `[${"1,".repeat(249_999)}1]`),
  customResource("custom resource of 60,000 wrong items", () => `[${"1,".repeat(59_999)}1]`),
  customResource(
    "custom resource of 9,900 valid items",
    () => `[${numbered(9_900, (n) => `{"name":"a${n}","a":1,"b":2}`)}]`,
  ),
  oneRequest("64,000 unknown fields to selfsubjectaccessreviews", "a user", () => ({
    path: REVIEWS,
    body: `{${numbered(64_000, (n) => `"k${n}":1`)}}`,
  })),
  oneRequest("pod with 1,000 managedFields entries", "an editor", () => ({
    path: PODS,
    body: managedPod(1_000),
  })),
  oneRequest("labelSelector of 15,000 requirements", "a user", () => ({
    head: head("GET", `${PODS}?labelSelector=${"a=b,".repeat(15_000)}a=b`),
  })),
  oneRequest("labelSelector of 60,000 commas", "a user", () => ({
    head: head("GET", `${PODS}?labelSelector=${",".repeat(60_000)}`),
  })),
  oneRequest("fieldSelector of 15,000 requirements", "a user", () => ({
    head: head("GET", `${PODS}?fieldSelector=${"a=b,".repeat(15_000)}a=b`),
  })),
  oneRequest("/readyz?timeout=1h1h1h… 60 KB", "anonymous", () => ({
    head: head("GET", `/readyz?timeout=${"1h".repeat(30_000)}`),
  })),
  oneRequest("a query of 30,000 parameters", "anonymous", () => ({
    head: head("GET", `/readyz?${"a&".repeat(30_000)}`),
  })),
  oneRequest("1,900 Impersonate-Extra headers of a user who may", "a user", () => ({
    head: manyHeaders(1_900, (n) => `Impersonate-Extra-k${n}: v`).replace(
      "\r\n",
      "\r\nImpersonate-User: someone\r\n",
    ),
  })),
  patch(
    "merge patch of 64,000 unknown keys",
    "application/merge-patch+json",
    () => `{${numbered(64_000, (n) => `"k${n}":1`)}}`,
  ),
  patch(
    "JSON patch that shifts a list of 60,000 items 9,900 times",
    "application/json-patch+json",
    () => shifting(60_000),
  ),
  patch(
    "strategic merge patch of 9,900 containers",
    "application/strategic-merge-patch+json",
    () => `{"spec":{"containers":[${numbered(9_900, (n) => `{"name":"a${n}"}`)}]}}`,
  ),
];

const ACCEPT_JSON = { Accept: "application/json" };

interface Request {
  /** A whole request without a body, or … */
  readonly head?: string;
  /** … a POST. */
  readonly path?: string;
  readonly type?: string;
  readonly body?: string;
}

function oneRequest(name: string, by: Attack["by"], make: () => Request): Attack {
  return {
    name,
    by,
    wishMs: wishFor(make().body ?? ""),
    send: async (target) => {
      const { path = "", type = "application/json", body = "", ...made } = make();
      const length = { "Content-Type": type, "Content-Length": body.length };
      const text = made.head ?? head("POST", path, length);
      const certificate = by === "anonymous" ? undefined : target.identity;
      report(name, await sendRaw(target, certificate, text, body));
    },
  };
}

function wishFor(body: string): number {
  return body.length > LARGE_BODY_BYTES ? LARGE_BODY_WISH_MS : WISH_MS;
}

/** Of a pod that is there. */
function patch(name: string, type: string, make: () => string): Attack {
  return {
    name,
    by: "an editor",
    wishMs: wishFor(make()),
    send: async (target) => {
      const body = make();
      const headers = { "Content-Type": type, "Content-Length": body.length };
      const path = `${PODS}/${VICTIM}?fieldManager=attack`;
      report(name, await sendRaw(target, target.identity, head("PATCH", path, headers), body));
    },
  };
}

/** Of a kind that is defined first: its items need a name, get a default and are checked by a rule. */
function customResource(name: string, makeItems: () => string): Attack {
  return {
    name,
    by: "an editor",
    wishMs: wishFor(makeItems()),
    send: async (target) => {
      await defineAttacked(target);
      const body = `{"apiVersion":"example.com/v1","kind":"Attack","metadata":{"name":"x"},"spec":{"items":${makeItems()}}}`;
      const headers = { "Content-Type": "application/json", "Content-Length": body.length };
      const path = "/apis/example.com/v1/namespaces/default/attacks";
      report(name, await sendRaw(target, target.identity, head("POST", path, headers), body));
    },
  };
}

const ATTACKED_SPEC = `"properties":{"items":{"type":"array","maxItems":250000,"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":8},"size":{"type":"integer","default":1}}}},"rule":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"!has(self.rule) || self.rule > 0"}]`;
const ESTABLISHED_AFTER_MS = 500;

async function defineAttacked(target: Target): Promise<void> {
  const body = definitionWith(ATTACKED_SPEC);
  const headers = { "Content-Type": "application/json", "Content-Length": body.length };
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await sendRaw(target, target.identity, head("POST", path, headers), body);
  await new Promise((resolve) => setTimeout(resolve, ESTABLISHED_AFTER_MS));
}

function report(name: string, code: number): void {
  if (process.env.K8TS_ATTACK !== undefined) process.stderr.write(`${name}: ${code}\n`);
}

function post(length: number): string {
  return head("POST", PODS, { "Content-Type": "application/json", "Content-Length": length });
}

/** Connections that send a part of a request and wait. They are closed after a while. */
async function halfSent(
  target: Target,
  connections: number,
  start: string,
  megabytes: number,
): Promise<void> {
  const rest = Buffer.alloc(megabytes * MEGABYTE, "a");
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await openRaw(target, undefined).catch(() => undefined);
      socket?.resume();
      socket?.write(start);
      socket?.write(rest);
      return socket;
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  for (const socket of sockets) socket?.destroy();
}

const HOLD_MS = 2_000;

async function handshakes(target: Target, { connections }: Scale): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => openRaw(target, undefined).catch(() => undefined)),
  );
  for (const socket of sockets) socket?.destroy();
}

function manyHeaders(count: number, line: (n: number) => string): string {
  let text = "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  for (let n = 0; n < count; n++) text += `${line(n)}\r\n`;
  return `${text}\r\n`;
}

function lines(megabytes: number, line: (n: number) => string): string {
  let text = "";
  for (let n = 0; text.length < megabytes * MEGABYTE - 100; n++) text += line(n);
  return text;
}

function numbered(count: number, item: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => item(n)).join(",");
}

function podWith(spec: string): string {
  return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"attack"},"spec":{${spec}}}`;
}

function policyWith(validations: string): string {
  const rule =
    '{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]}';
  return (
    `{"metadata":{"name":"attack.example.com"},"spec":{"matchConstraints":` +
    `{"resourceRules":[${rule}]},"validations":[${validations}]}}`
  );
}

function definitionWith(spec: string): string {
  const schema = `{"type":"object","properties":{"spec":{"type":"object",${spec}}}}`;
  return (
    `{"metadata":{"name":"attacks.example.com"},"spec":{"group":"example.com","scope":"Namespaced",` +
    `"names":{"plural":"attacks","kind":"Attack"},"versions":[{"name":"v1","served":true,` +
    `"storage":true,"schema":{"openAPIV3Schema":${schema}}}]}}`
  );
}

function managedPod(entries: number): string {
  const managers = numbered(
    entries,
    (n) =>
      `{"manager":"m${n}","operation":"Update","apiVersion":"v1","time":"2030-01-01T00:00:00Z",` +
      `"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:a${n}":{}}}}}`,
  );
  return (
    `{"metadata":{"name":"managed","managedFields":[${managers}]},` +
    `"spec":{"containers":[{"name":"a","image":"a"}]}}`
  );
}

/** Every operation copies a list; none of them fails before the last. */
function shifting(items: number): string {
  const list = `{"op":"add","path":"/metadata/finalizers","value":[${"1,".repeat(items - 1)}1]}`;
  const shift = `{"op":"remove","path":"/metadata/finalizers/0"}`;
  return `[${list},${Array.from({ length: 9_900 }, () => shift).join(",")}]`;
}
