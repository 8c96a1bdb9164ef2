/** Entry of the HTTP thread. */
import { parentPort } from "node:worker_threads";
import { collectWhenIdle, ownHeap } from "#lib/idle-gc.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { serveHttpThread } from "./serve-http-thread.ts";

if (parentPort === null) throw new Error("this is a worker thread's file");
serveHttpThread(parentPort);
collectWhenIdle(systemClock, ownHeap(), new AbortController().signal);
