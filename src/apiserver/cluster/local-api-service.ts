/** The APIService of a group version that this server serves itself. */
import type { APIService, APIServiceSpec } from "#api/generated/apiregistration.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { LOCAL } from "../aggregation/decide-availability.ts";

/** The label that says that the server keeps the APIService: `onstart` or `true`. */
export const MANAGED = "kube-aggregator.kubernetes.io/automanaged";

export function localApiService(
  spec: APIServiceSpec,
  labels: Readonly<Record<string, string>>,
  nowMs: number,
): APIService {
  return {
    kind: "APIService",
    apiVersion: "apiregistration.k8s.io/v1",
    metadata: { name: `${spec.version}.${spec.group ?? ""}`, labels },
    spec,
    status: {
      conditions: [{ type: "Available", ...LOCAL, lastTransitionTime: timeFromMs(nowMs) }],
    },
  };
}
