/** Kinds that are on their way out say so in every answer. */
import type { Kind } from "#api/kind.ts";

const DEPRECATED: Readonly<Record<string, string>> = {
  "v1 Endpoints": "deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  "v1 ComponentStatus": "deprecated in v1.19+",
};

export function deprecationWarning({ apiVersion, names }: Kind): string | undefined {
  const name = `${apiVersion} ${names.kind}`;
  const text = DEPRECATED[name];
  return text === undefined ? undefined : `${name} is ${text}`;
}
