/** Secrets are shown without their values until the user asks for them. Pure. */
import type { KubeObject } from "./kube-object.ts";

const HIDDEN = "••••••••";
/** kubectl keeps a copy of the object in it. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export function isSecret({ apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">): boolean {
  return apiVersion === "v1" && kind === "Secret";
}

export function withHiddenValues(object: KubeObject): KubeObject {
  if (!isSecret(object)) return object;
  const { annotations } = object.metadata;
  const { data, stringData } = object as { data?: object; stringData?: object };
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(annotations === undefined || !Object.hasOwn(annotations, LAST_APPLIED)
        ? {}
        : { annotations: { ...annotations, [LAST_APPLIED]: HIDDEN } }),
    },
    ...(data === undefined ? {} : { data: hidden(data) }),
    ...(stringData === undefined ? {} : { stringData: hidden(stringData) }),
  } as KubeObject;
}

function hidden(values: object): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((key) => [key, HIDDEN]));
}
