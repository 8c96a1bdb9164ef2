/**
 * Generated definitions on two servers: the definition itself, then creates, updates, patches and
 * server-side applies of objects with all kinds of faults. Both servers get the same requests.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Dice, diceOf } from "../../load/dice.ts";
import type { Pair } from "../../shared-etcd/compared.ts";
import { type Answer, Client, difference, type Sent } from "./ask-both.ts";
import { rootSchema, type Schema } from "./schemas.ts";
import { valueFor } from "./values.ts";

const GROUP = "agree.example.com";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OBJECTS = 6;
const ESTABLISHED_TRIES = 200;
const PAUSE_MS = 25;
const MERGE = "application/merge-patch+json";
const JSON_PATCH = "application/json-patch+json";
const APPLY = "application/apply-patch+yaml";

export interface Compared {
  readonly what: "definition" | "create" | "update" | "patch" | "apply" | "status" | "read";
  /** Undefined if the servers agree. */
  readonly fault: string | undefined;
}

export async function* compareSchemas(
  { ours, theirs }: Pair,
  seeds: readonly number[],
): AsyncIterable<Compared> {
  using own = new Client(ours);
  using other = new Client(theirs);
  for (const seed of seeds) yield* compareSeed(own, other, seed);
}

async function* compareSeed(own: Client, other: Client, seed: number): AsyncIterable<Compared> {
  const dice = diceOf(seed);
  const plural = `things${seed}`;
  const schema = rootSchema(dice);
  const both = async (sent: Sent): Promise<readonly [Answer, Answer]> =>
    await Promise.all([own.ask(sent), other.ask(sent)]);
  const compared = async (what: Compared["what"], sent: Sent): Promise<Compared> => {
    const fault = difference(...(await both(sent)));
    if (fault === undefined) return { what, fault };
    const request = `${sent.method} ${sent.path} ${JSON.stringify(sent.body)}`;
    return { what, fault: `seed ${seed}: ${request}\n      ${fault}` };
  };
  const sent = { method: "POST", path: DEFINITIONS, body: definition(plural, seed, schema) };
  const [a, b] = await both(sent);
  const [shownA, shownB] = [a, b].map(withoutStatus) as [Answer, Answer];
  const fault = difference(shownA, shownB);
  const text = `seed ${seed}: ${JSON.stringify(schema)}\n      ${fault}`;
  yield { what: "definition", fault: fault === undefined ? undefined : text };
  if (a.code !== 201 || b.code !== 201) return;
  const path = `${DEFINITIONS}/${plural}.${GROUP}`;
  await Promise.all([own, other].map((client) => untilServed(client, path, plural)));
  for (const step of requestsFor(dice, plural, `Thing${seed}`, schema)) {
    yield await compared(step.what, step);
  }
  await both({ method: "DELETE", path });
}

function definition(plural: string, seed: number, openAPIV3Schema: Schema): object {
  const names = { plural, kind: `Thing${seed}` };
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names,
      versions: [{ ...version, schema: { openAPIV3Schema } }],
    },
  };
}

/** The controllers of a definition may have written its status already. */
function withoutStatus(answer: Answer): Answer {
  if (answer.code >= 300) return answer;
  const { status: _, ...body } = answer.body;
  return { ...answer, body };
}

async function untilServed(client: Client, path: string, plural: string): Promise<void> {
  for (let tries = 0; tries < ESTABLISHED_TRIES; tries++) {
    const { body } = await client.ask({ method: "GET", path });
    const { conditions } = (body.status ?? {}) as {
      conditions?: { readonly type: string; readonly status: string }[] | null;
    };
    const isEstablished = (conditions ?? []).some(
      ({ type, status }) => type === "Established" && status === "True",
    );
    const listed = await client.ask({ method: "GET", path: collectionOf(plural) });
    if (isEstablished && listed.code === 200) return;
    await sleep(PAUSE_MS);
  }
  throw new Error(`${path} is not served`);
}

function collectionOf(plural: string): string {
  return `/apis/${GROUP}/v1/namespaces/default/${plural}`;
}

interface Step extends Sent {
  readonly what: Compared["what"];
}

function* requestsFor(dice: Dice, plural: string, kind: string, schema: Schema): Iterable<Step> {
  const collection = collectionOf(plural);
  const type = { apiVersion: `${GROUP}/v1`, kind };
  const random = (): object => valueFor(dice, schema, true) as object;
  for (let index = 0; index < OBJECTS; index++) {
    const metadata = { name: `one${index}` };
    const path = `${collection}/${metadata.name}`;
    const validation = dice.pick(["Strict", "Warn", "Ignore"]);
    const query = `?fieldValidation=${validation}`;
    for (let tries = 0; tries < 3; tries++) {
      const body = { ...type, metadata, ...random() };
      yield { what: "create", method: "POST", path: `${collection}${query}`, body };
    }
    const update = { ...type, metadata, ...random() };
    yield { what: "update", method: "PUT", path: `${path}${query}`, body: update };
    for (let tries = 0; tries < 2; tries++) {
      const body = random();
      yield { what: "patch", method: "PATCH", path: `${path}${query}`, type: MERGE, body };
    }
    const name = dice.pick(["a", "b", "c"]);
    const operations = [
      {
        op: dice.pick(["add", "replace", "remove"]),
        path: `/spec/${name}`,
        value: dice.integer(9),
      },
    ];
    yield { what: "patch", method: "PATCH", path, type: JSON_PATCH, body: operations };
    yield { what: "status", method: "PATCH", path: `${path}/status`, type: MERGE, body: random() };
    for (const manager of ["one", "two", "one"]) {
      const force = dice.chance(0.3) ? "&force=true" : "";
      const body = { ...type, metadata, ...random() };
      const applied = `${path}?fieldManager=${manager}${force}`;
      yield { what: "apply", method: "PATCH", path: applied, type: APPLY, body };
    }
    yield { what: "read", method: "GET", path };
  }
}
