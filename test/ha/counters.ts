/**
 * The load of the fault campaign: writers that count up in ConfigMaps of their own through any API
 * server, and watchers that follow all of them. Both write down what they see.
 *
 * What it proves: every value is written once, by one writer. So a value that was acknowledged and is
 * not there was lost; a read that shows less than was acknowledged before it began was stale; a watch
 * that leaves a value out missed an event, and one that shows it again repeated one.
 */
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { authorityOf, type HttpsPlace } from "../apiserver/https-ask.ts";
import { type Answer, askServer, type Request } from "./api-servers.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PAUSE_MS = 20;
const AVOIDED_MS = 10_000;

export interface Counter {
  readonly name: string;
  /** The last value whose write was acknowledged, or seen in a read. */
  known: number;
  acknowledged: number;
  /** The longest time between two acknowledged writes. */
  longestGapMs: number;
  readonly faults: string[];
}

export function newCounter(name: string): Counter {
  return { name, known: 0, acknowledged: 0, longestGapMs: 0, faults: [] };
}

/** Counts until the signal aborts. */
export async function runCounter(
  counter: Counter,
  places: readonly HttpsPlace[],
  signal: AbortSignal,
): Promise<void> {
  const balancer = newBalancer(places);
  let current = await settled(counter, balancer, signal);
  let ackedAtMs = performance.now();
  while (!signal.aborted) {
    const next = counter.known + 1;
    const answer = await balancer.ask(write(counter.name, next, current));
    if (answer !== undefined && answer.code < 300) {
      current = answer.json.metadata.resourceVersion;
      counter.known = next;
      counter.acknowledged += 1;
      const nowMs = performance.now();
      counter.longestGapMs = Math.max(counter.longestGapMs, nowMs - ackedAtMs);
      ackedAtMs = nowMs;
      await checkRead(counter, balancer);
    } else {
      await sleep(PAUSE_MS);
      current = await settled(counter, balancer, signal);
    }
  }
}

/** Reads until a server responds: whether the last write took effect. */
async function settled(
  counter: Counter,
  balancer: Balancer,
  signal: AbortSignal,
): Promise<string | undefined> {
  while (!signal.aborted) {
    const answer = await balancer.ask(read(counter.name));
    if (answer?.code === 404) {
      if (counter.known > 0) counter.faults.push(`${counter.name} is gone`);
      return undefined;
    }
    if (answer?.code === 200) {
      const value = countOf(answer);
      if (value < counter.known || value > counter.known + 1) {
        counter.faults.push(`${counter.name}: ${value} was read, ${counter.known} was known`);
      }
      counter.known = Math.max(counter.known, value);
      return answer.json.metadata.resourceVersion;
    }
    await sleep(PAUSE_MS);
  }
  return undefined;
}

/** A read through another server, begun after a write was acknowledged, shows it. */
async function checkRead(counter: Counter, balancer: Balancer): Promise<void> {
  const answer = await balancer.ask(read(counter.name));
  if (answer?.code !== 200 || countOf(answer) === counter.known) return;
  counter.faults.push(`${counter.name}: ${countOf(answer)} was read after ${counter.known}`);
}

function write(name: string, value: number, resourceVersion: string | undefined): Request {
  const data = { value: `${value}` };
  if (resourceVersion === undefined) {
    return { method: "POST", path: CONFIG_MAPS, body: { metadata: { name }, data } };
  }
  const body = { metadata: { name, resourceVersion }, data };
  return { method: "PUT", path: `${CONFIG_MAPS}/${name}`, body };
}

function read(name: string): Request {
  return { path: `${CONFIG_MAPS}/${name}` };
}

/** Any server that has answered lately, as behind a load balancer that checks them. */
interface Balancer {
  /** Undefined if there was no answer. */
  ask(request: Request): Promise<Answer | undefined>;
}

function newBalancer(places: readonly HttpsPlace[]): Balancer {
  const avoidedUntilMs = new Map<HttpsPlace, number>();
  return {
    async ask(request) {
      const nowMs = performance.now();
      const good = places.filter((place) => (avoidedUntilMs.get(place) ?? 0) < nowMs);
      const choice = good.length > 0 ? good : places;
      const place = choice[Math.floor(Math.random() * choice.length)]!;
      try {
        return await askServer(place, request);
      } catch {
        avoidedUntilMs.set(place, performance.now() + AVOIDED_MS);
        return undefined;
      }
    },
  };
}

function countOf({ json }: Answer): number {
  return Number(json.data.value);
}

/** What a watch has seen: the values of each counter in order. */
export type Seen = Map<string, number[]>;

/** The version from which a watch sees everything that is written from now on. */
export async function currentVersion(place: HttpsPlace): Promise<string> {
  const { json } = await askServer(place, { path: `${CONFIG_MAPS}?limit=1` });
  return json.metadata.resourceVersion;
}

/** Follows all counters, from one server and, when that is gone, from the next one. */
export async function runWatcher(
  places: readonly HttpsPlace[],
  token: string,
  from: string,
  seen: Seen,
  faults: string[],
  signal: AbortSignal,
): Promise<void> {
  let version = from;
  for (let turn = 0; !signal.aborted; turn++) {
    const place = places[turn % places.length]!;
    await followOnce(place, token, version, signal, (event) => {
      if (event.type === "ERROR") faults.push(`watch: ${JSON.stringify(event.object)}`);
      else version = event.object.metadata.resourceVersion;
      const value = event.object?.data?.value;
      if (event.type === "BOOKMARK" || value === undefined) return;
      const { name } = event.object.metadata;
      seen.set(name, [...(seen.get(name) ?? []), Number(value)]);
    });
    if (!signal.aborted) await sleep(PAUSE_MS);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: events are of every kind
type OnEvent = (event: any) => void;

/** Ends when the watch does, for whatever reason. */
function followOnce(
  place: HttpsPlace,
  token: string,
  version: string,
  signal: AbortSignal,
  onEvent: OnEvent,
): Promise<void> {
  return new Promise((resolve) => {
    const path = `${CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}`;
    const outgoing = request({
      ...{ host: "127.0.0.1", port: place.port, ca: authorityOf(place), path, agent: false },
      headers: { authorization: `Bearer ${token}` },
      signal,
    });
    outgoing.on("error", () => resolve());
    outgoing.on("response", (response) => {
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        if (response.statusCode === 200) for (const line of lines) onEvent(JSON.parse(line));
      });
      response.on("error", () => resolve());
      response.on("close", () => resolve());
    });
    outgoing.end();
  });
}
