/**
 * Whether HTTP runs in a worker thread: on three cores or more. On two the clients need the second
 * core. K8TS_HTTP_THREAD=1 or 0 overrides it.
 */
import { availableParallelism } from "node:os";

const CORES_MIN = 3;

export function useHttpThread(wish = process.env.K8TS_HTTP_THREAD): boolean {
  if (wish === "1" || wish === "0") return wish === "1";
  return availableParallelism() >= CORES_MIN;
}
