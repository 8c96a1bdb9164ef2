/** The handler of a pod's RuntimeClass. Classes are few and never change their handler. */
import type { Pod } from "#api/generated/core.v1.ts";
import { runtimeClassKind } from "#api/kinds/node/v1/runtime-class.ts";
import type { Client } from "#client/client.ts";

export async function runtimeHandlerOf(client: Client, { spec }: Pod): Promise<string> {
  const name = spec.runtimeClassName ?? "";
  if (name === "") return "";
  const found = await client.get(runtimeClassKind, { name });
  if (found.ok) return found.value.handler;
  if (found.status.code === 404) {
    throw new Error(`failed to get sandbox runtime: RuntimeClass "${name}" not found`);
  }
  throw new Error(found.status.message ?? "");
}
