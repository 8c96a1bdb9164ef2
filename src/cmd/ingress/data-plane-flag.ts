/** The flag that chooses what carries the requests of Ingresses. */
import { DATA_PLANES, type DataPlaneName } from "#ingress/data-plane-name.ts";
import { FlagError } from "../flags/parse-flags.ts";

export function dataPlaneOf(flag: string, text: string): DataPlaneName {
  const found = DATA_PLANES.find((name) => name === text);
  if (found !== undefined) return found;
  throw new FlagError(`${flag}: ${text} is none of ${DATA_PLANES.join(", ")}`);
}
