/** Creates of a custom resource with a schema of 100 fields and five CEL rules, on both servers in turns. */
import { setTimeout as sleep } from "node:timers/promises";
import { openHttp1 } from "../../load/http1-asker.ts";
import { inTurns } from "../../load/in-turns.ts";
import { type Measured, measureLoad, type Requester } from "../../load/load.ts";
import { post } from "../../load/pods.ts";
import type { ServerProcess } from "../../load/server-processes.ts";
import type { BenchOptions, Row } from "../../row.ts";
import type { Pair } from "../../shared-etcd/compared.ts";
import { customObject, definition, pathOf } from "../definitions.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CONNECTIONS = 16;
const SERVED_TRIES = 400;
const PAUSE_MS = 25;
const FACTOR = 4;

export async function* compareCreates(pair: Pair, options: BenchOptions): AsyncIterable<Row> {
  const [own, upstream] = [await creator(pair.ours), await creator(pair.theirs)];
  const row = `create of a custom resource with five CEL rules, ${CONNECTIONS} connections`;
  const contest = { name: row, pid: pair.ours.pid, own, limit: upstream };
  const { perSecond, ratio } = await inTurns(options, contest);
  const limit = { limit: perSecond / ratio, limitName: "kube-apiserver" };
  yield { name: row, value: perSecond, unit: "/s", ...limit, ratio, target: FACTOR };
}

async function creator(server: ServerProcess): Promise<(windowMs: number) => Promise<Measured>> {
  const askers = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openHttp1(server.port, server.identity)),
  );
  await define(askers[0]!);
  let series = 0;
  return (windowMs) => {
    const prefix = `made-${series++}`;
    return measureLoad(askers, windowMs, (connection, n) =>
      post(pathOf(0), customObject(0, `${prefix}-${connection}-${n}`)),
    );
  };
}

async function define(asker: Requester): Promise<void> {
  await asker.ask(post(DEFINITIONS, definition(0)));
  for (let tries = 0; ; tries++) {
    try {
      await asker.ask(post(pathOf(0), customObject(0, "first")));
      return;
    } catch (error) {
      if (tries > SERVED_TRIES) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
