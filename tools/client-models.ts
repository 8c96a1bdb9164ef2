/** Which class of the generated client library stands for which struct of the fact tables. */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { allTypeNames } from "#api/schema/from-facts.ts";

/** Where the library keeps its models. Not everything that lies there is exported: see all.js. */
export const MODELS_FOLDER = dirname(
  createRequire(import.meta.url).resolve("@kubernetes/client-node/dist/gen/models/all.js"),
);

/** Shares its name with a type of another group but is no part of the published API. */
const UNPUBLISHED: ReadonlySet<string> = new Set(["core.v1.Preconditions"]);

/** From the name of a struct (`core.v1.Pod`) to that of its class (`V1Pod`). */
export function modelsOfTypes(exported: ReadonlySet<string>): Map<string, string> {
  const models = new Map<string, string>();
  for (const type of allTypeNames()) {
    const name = candidates(type).find((candidate) => exported.has(candidate));
    if (name !== undefined && !UNPUBLISHED.has(type)) models.set(type, name);
  }
  return models;
}

/** `CoreV1Event` where several groups have the name, else `V1Event`. */
function candidates(type: string): string[] {
  const [group = "", version = "", name = ""] = type.split(".");
  const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);
  return [`${capital(group)}${capital(version)}${name}`, `${capital(version)}${name}`];
}
