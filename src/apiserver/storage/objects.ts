/**
 * The server's own access to stored objects, for authentication, authorization, admission and
 * allocation: current, frozen objects from the watch caches. Reads do no IO. Writes go to the store
 * with compare-and-swap and are seen by reads before they resolve.
 */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KindOf, KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import type { ResourceStats } from "../flow/work-estimate.ts";

export interface Objects {
  get<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string): T | undefined;
  list<T extends KubeObject>(kind: KindOf<T>, namespace?: string): Iterable<T>;
  /** Of what is stored under this name, in all namespaces. */
  statsOf?(group: string, resource: string): ResourceStats | undefined;
  create<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>>;
  /**
   * Reads, changes and writes again until no other writer was in between. `change` may return a
   * Status to give up with it. `managed`: the server owns what it changed of that subresource, as
   * any other client would.
   */
  mutate<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
    change: (draft: Draft<T>) => Status | undefined,
    managed?: "status",
  ): Promise<Result<T>>;
  delete<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
  ): Promise<Result<T>>;
  /** Calls the listener with every change of one kind, in order, after the cache shows it. */
  onChange<T extends KubeObject>(
    kind: KindOf<T>,
    listener: (next: T | undefined, old: T | undefined) => void,
    signal: AbortSignal,
  ): void;
}
