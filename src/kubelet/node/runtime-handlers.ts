/** The handlers of pods' RuntimeClasses. Classes are few and never change their handler. */
import type { Pod } from "#api/generated/core.v1.ts";
import { runtimeClassKind } from "#api/kinds/node/v1/runtime-class.ts";
import type { Client } from "#client/client.ts";

const KNOWN_MAX = 1_000;

/** Answers the handler of a pod; without an API server that of a class that was seen before. */
export function createRuntimeHandlers(client: Client): (pod: Pod) => Promise<string> {
  const known = new Map<string, string>();
  return async ({ spec }) => {
    const name = spec.runtimeClassName ?? "";
    if (name === "") return "";
    try {
      const found = await client.get(runtimeClassKind, { name });
      if (found.ok) {
        if (known.size < KNOWN_MAX) known.set(name, found.value.handler);
        return found.value.handler;
      }
      if (found.status.code === 404) {
        known.delete(name);
        throw new Error(`failed to get sandbox runtime: RuntimeClass "${name}" not found`);
      }
      throw new Error(found.status.message ?? "");
    } catch (error) {
      const handler = known.get(name);
      if (handler === undefined) throw error;
      return handler;
    }
  };
}
