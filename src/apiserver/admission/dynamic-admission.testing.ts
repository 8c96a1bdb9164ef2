/** An API server with webhooks and policies, and short ways to write policies, for tests. */

import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { startTestApi, type TestApi } from "../api.testing.ts";
import type { AdmissionRequest } from "./admission-request.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import { type DynamicAdmissionOptions, webhooksAndPolicies } from "./webhooks-and-policies.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests write objects of every shape
export type Json = any;

const GROUP = "/apis/admissionregistration.k8s.io";
export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
export const MATCH_CONFIG_MAPS = {
  resourceRules: [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] },
  ],
};

export interface DynamicApi extends TestApi {
  readonly metrics: Metrics;
  /** Of the requests, in order. */
  readonly annotations: Record<string, string>[];
  createPolicy(
    type: "validating" | "mutating",
    name: string,
    spec: Json,
    binding?: Json,
  ): Promise<void>;
}

export async function startDynamicApi(
  options: Partial<DynamicAdmissionOptions> = {},
): Promise<DynamicApi> {
  const metrics = new Metrics();
  const annotations: Record<string, string>[] = [];
  const api = await startTestApi({
    admission: ({ security, ...server }, signal) => {
      const { authorizer } = security;
      const random = seededRandom(1);
      const parts = {
        ...server,
        authorizer,
        clock: systemClock,
        random,
        logger: silentLogger,
        metrics,
      };
      const all = webhooksAndPolicies({ ...parts, ...options }, signal);
      return [noteAnnotations(annotations), ...all.mutating, ...all.validating];
    },
  });
  await api.want(201, "POST", "/api/v1/namespaces", {
    body: { metadata: { name: "default", labels: { team: "blue" } } },
  });
  const createPolicy: DynamicApi["createPolicy"] = async (type, name, spec, binding = {}) => {
    const actions = type === "validating" ? { validationActions: ["Deny"] } : {};
    const metadata = { name };
    await api.want(201, "POST", `${GROUP}/v1/${type}admissionpolicies`, {
      body: { metadata, spec: { matchConstraints: MATCH_CONFIG_MAPS, ...spec } },
    });
    await api.want(201, "POST", `${GROUP}/v1/${type}admissionpolicybindings`, {
      body: { metadata, spec: { policyName: name, ...actions, ...binding } },
    });
  };
  return {
    ...api,
    metrics,
    annotations,
    createPolicy,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

/** Requests of tests have no audit log: their annotations are noted here. */
function noteAnnotations(all: Record<string, string>[]): AdmissionPlugin {
  const note = (request: AdmissionRequest): undefined => {
    const own = all.at(-1)!;
    const annotate = (key: string, value: string): void => {
      own[key] = value;
    };
    Object.assign(request, { annotate });
  };
  return {
    name: "NoteAnnotations",
    admit(request, { reinvocation }) {
      if (reinvocation === undefined) all.push({});
      return note(request);
    },
    validate: note,
  };
}
