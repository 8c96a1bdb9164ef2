/** The server as its own client: through the same rules as everyone, as the apiserver itself. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KindOf, KubeObject } from "#api/kind.ts";
import { failure, type Result, success } from "#api/meta/status.ts";
import type { Handler } from "../request/handler.ts";
import type { User } from "../request/request.ts";

const APISERVER: User = { name: "system:apiserver", groups: ["system:masters"] };

export interface Loopback {
  get<T extends KubeObject>(kind: KindOf<T>, namespace: string, name: string): Promise<Result<T>>;
  create<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>>;
  /** Creates it if it is missing; otherwise changes it. A change that changes nothing costs nothing. */
  ensure<T extends KubeObject>(
    kind: KindOf<T>,
    object: T,
    change?: (draft: Draft<T>) => void,
  ): Promise<Result<T>>;
  updateStatus<T extends KubeObject>(kind: KindOf<T>, object: T): Promise<Result<T>>;
  delete<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
  ): Promise<Result<unknown>>;
}

export function createLoopback(handle: Handler, signal: AbortSignal): Loopback {
  const ask = async <T>(method: string, path: string, object?: KubeObject): Promise<Result<T>> => {
    const answer = await handle({
      method,
      path,
      query: new URLSearchParams(),
      headers: { "user-agent": "kube-apiserver" },
      body: object === undefined ? { form: "none" } : { form: "object", object },
      peer: { address: "loopback", user: APISERVER },
      signal,
    });
    const { body } = answer;
    if (body.form === "object") return success(body.object.value as T);
    if (body.form !== "value") throw new Error(`unexpected answer: ${body.form}`);
    return answer.code < 300 ? success(body.value as T) : failure(body.value as Status);
  };
  const pathOf = (kind: KindOf<KubeObject>, namespace: string, name = ""): string => {
    const root = kind.group === "" ? "/api/v1" : `/apis/${kind.group}/${kind.version}`;
    const place = kind.scope === "Namespaced" ? `/namespaces/${namespace}` : "";
    return `${root}${place}/${kind.names.plural}${name === "" ? "" : `/${name}`}`;
  };
  const placeOf = ({ metadata }: KubeObject): [namespace: string, name: string] => [
    metadata.namespace ?? "",
    metadata.name ?? "",
  ];

  const loopback: Loopback = {
    get: (kind, namespace, name) => ask("GET", pathOf(kind, namespace, name)),
    create: (kind, object) => ask("POST", pathOf(kind, placeOf(object)[0]), object),
    delete: (kind, namespace, name) => ask("DELETE", pathOf(kind, namespace, name)),
    updateStatus: (kind, object) =>
      ask("PUT", `${pathOf(kind, ...placeOf(object))}/status`, object),
    async ensure(kind, object, change) {
      const [namespace, name] = placeOf(object);
      const there = await loopback.get(kind, namespace, name);
      if (!there.ok) {
        if (there.status.code !== 404) return there;
        return await loopback.create(kind, object);
      }
      if (change === undefined) return there;
      const draft = structuredClone(there.value) as Draft<typeof object>;
      change(draft);
      return await ask("PUT", pathOf(kind, namespace, name), draft as typeof object);
    },
  };
  return loopback;
}
