/** Writes to the store of a server in memory, as tests want them: the object as it is, status and all. */
import type { Draft as DeepDraft, KindOf, KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { completed, type Draft } from "./build.ts";

/** Where objects are whose namespace is not said. */
export const NAMESPACE = "default";

export async function seedObject<T extends KubeObject>(
  { objects }: ApiServer,
  kind: KindOf<T>,
  draft: Draft<T>,
): Promise<T> {
  const object = completed(kind, draft);
  if (kind.scope === "Namespaced") object.metadata.namespace ??= NAMESPACE;
  kind.defaults?.(object);
  return unwrap(await objects.create(kind, object as T));
}

export async function editObject<T extends KubeObject>(
  { objects }: ApiServer,
  kind: KindOf<T>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  change: (draft: DeepDraft<T>) => void,
): Promise<T> {
  const result = await objects.mutate(kind, namespaceOf(kind, namespace), name, (draft) => {
    change(draft);
    return undefined;
  });
  return unwrap(result);
}

export function getObject<T extends KubeObject>(
  { objects }: ApiServer,
  kind: KindOf<T>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): T | undefined {
  return objects.get(kind, namespaceOf(kind, namespace), name);
}

function namespaceOf(kind: KindOf<KubeObject>, namespace: string): string {
  return kind.scope === "Namespaced" ? namespace : "";
}

export function unwrap<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.status.message ?? "refused");
  return result.value;
}
