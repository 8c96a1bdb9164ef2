/** Creates an object unless it is there. What is there already is answered as it is. */
import type { KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import type { Client, Typed } from "#client/client.ts";

export async function ensureObject<T extends KubeObject>(
  client: Client,
  kind: Typed<T>,
  object: T,
  signal: AbortSignal,
): Promise<T> {
  const { namespace, name = "" } = object.metadata;
  const found = await client.get(kind, { namespace, name }, signal);
  if (found.ok || found.status.reason !== "NotFound") return answerOf(found, name);
  const created = await client.create(kind, object, {}, signal);
  // Two components of one cluster may make the same object at the same time.
  const isThere = !created.ok && created.status.reason === "AlreadyExists";
  return answerOf(isThere ? await client.get(kind, { namespace, name }, signal) : created, name);
}

export function answerOf<T>(result: Result<T>, name: string): T {
  if (!result.ok) throw new Error(`${name}: ${result.status.message}`);
  return result.value;
}
