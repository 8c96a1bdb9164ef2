/** Objects as the server would hand them out, made from the few fields that a test cares about. */
import { normalize } from "#api/codec/json.ts";
import type { Draft as DeepDraft, KindOf, KubeObject } from "#api/kind.ts";

/** An object of which only some is said; the rest is defaulted or left out. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly Draft<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Draft<T[Key]> }
    : T;

/** With defaults, a namespace and a uid (`uid-NAME`), for decisions that are asked without a server. */
export function build<T extends KubeObject>(kind: KindOf<T>, draft: Draft<T>): T {
  const object = completed(kind, draft);
  const { metadata } = object;
  if (kind.scope === "Namespaced") metadata.namespace ??= "default";
  metadata.uid ??= `uid-${metadata.name}`;
  metadata.resourceVersion ??= "1";
  kind.defaults?.(object);
  return object as T;
}

/** With everything that is always there, as if it had come in a request. */
export function completed<T extends KubeObject>(kind: KindOf<T>, draft: Draft<T>): DeepDraft<T> {
  const decoded = normalize(kind.schema(), draft);
  if (!decoded.ok) throw new Error(decoded.error);
  return { ...decoded.value, apiVersion: kind.apiVersion, kind: kind.names.kind } as DeepDraft<T>;
}
