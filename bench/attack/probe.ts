/**
 * A client that asks again and again while another one attacks, in a thread of its own, so that what
 * the attacker computes does not count. Reports the longest response time.
 */
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { openHttp1 } from "../load/http1-asker.ts";
import type { Requester } from "../load/load.ts";
import type { Target } from "./raw-request.ts";

/** Between an answer and the next question. */
const PAUSE_MS = 1;

export interface Probe extends AsyncDisposable {
  /** The longest wait, in milliseconds, of all questions that were asked while `work` ran. */
  longestMs(work: () => Promise<void>): Promise<number>;
}

interface ProbeData extends Target {
  readonly path: string;
}

export async function openProbe(target: Target, path: string): Promise<Probe> {
  const data: ProbeData = { port: target.port, identity: target.identity, path };
  const worker = new Worker(new URL(import.meta.url), {
    workerData: data,
    execArgv: process.execArgv,
  });
  const next = async (): Promise<number> => (await once(worker, "message"))[0] as number;
  await next(); // it is connected
  return {
    longestMs: async (work) => {
      worker.postMessage("start");
      await next();
      try {
        await work();
      } finally {
        worker.postMessage("stop");
      }
      return await next();
    },
    [Symbol.asyncDispose]: async () => void (await worker.terminate()),
  };
}

async function ask(asker: Requester, path: string, isOver: () => boolean): Promise<number> {
  let longestMs = 0;
  while (!isOver()) {
    const startMs = performance.now();
    await asker.ask({ method: "GET", path });
    longestMs = Math.max(longestMs, performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return longestMs;
}

async function runProbe({ port, identity, path }: ProbeData): Promise<void> {
  const asker = await openHttp1(port, identity);
  let over = true;
  parentPort!.on("message", (message: "start" | "stop") => {
    over = message === "stop";
    if (over) return;
    parentPort!.postMessage(0);
    void ask(asker, path, () => over).then((ms) => parentPort!.postMessage(ms));
  });
  parentPort!.postMessage(0);
}

if (!isMainThread) await runProbe(workerData as ProbeData);
