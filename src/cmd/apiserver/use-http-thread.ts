/**
 * Whether HTTP is spoken in a thread of its own: where a core can be spared for it. With two, those
 * who ask need the other one. K8TS_EDGE=1 or 0 decides otherwise.
 */
import { availableParallelism } from "node:os";

const CORES_MIN = 3;

export function edgeThread(wish = process.env.K8TS_EDGE): boolean {
  if (wish === "1" || wish === "0") return wish === "1";
  return availableParallelism() >= CORES_MIN;
}
