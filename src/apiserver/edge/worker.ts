/** The thread of the edge. */
import { parentPort } from "node:worker_threads";
import { serveEdge } from "./front.ts";

if (parentPort === null) throw new Error("this is a worker thread's file");
serveEdge(parentPort);
