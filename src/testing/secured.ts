/** What makes a test cluster as strict as a real one: its admission, its first objects, its roles. */

import type { AdmissionPlugin } from "#apiserver/admission/plugin.ts";
import { admissionPlugins } from "#apiserver/admission/registry.ts";
import { webhooksAndPolicies } from "#apiserver/admission/webhooks-and-policies.ts";
import { createEscalationCheck } from "#apiserver/authz/escalation.ts";
import { bootstrapCluster } from "#apiserver/cluster/bootstrap-cluster.ts";
import { createLoopback } from "#apiserver/cluster/loopback.ts";
import type { User } from "#apiserver/request/request.ts";
import type { AdmissionParts, ApiServer } from "#apiserver/server.ts";
import type { Transport, WatchCall, WatchEvent } from "#client/transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Store } from "#store/contract.ts";

/** One server needs no sign of life, and its renewals would make a year of virtual time slow. */
const YEAR_MS = 365 * 86_400_000;

export function defaultAdmission(
  parts: AdmissionParts & { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): readonly AdmissionPlugin[] {
  const { security, resources, clock, random } = parts;
  const { authorizer, rules } = security;
  const metrics = new Metrics();
  return [
    ...admissionPlugins(
      {
        ...{ authorizer, clock, random },
        tolerationSeconds: { notReady: 300, unreachable: 300 },
        ...webhooksAndPolicies({ ...parts, authorizer, metrics, logger: silentLogger }, signal),
        findKind: (version, kind) => resources.findKind(version, kind),
      },
      { enable: [], disable: [] },
    ),
    createEscalationCheck(rules, authorizer),
  ];
}

export async function bootstrap(parts: {
  readonly server: ApiServer;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { server, store, clock, random, signal } = parts;
  await bootstrapCluster(
    {
      objects: server.objects,
      loopback: createLoopback(server.handle, signal),
      discovery: server.discovery,
      store,
      storeIsShared: false,
      clock,
      random,
      logger: silentLogger,
      hostname: "test",
      identityRenewMs: YEAR_MS,
      advertiseAddress: "127.0.0.1",
      port: 6443,
      serviceRanges: ["10.96.0.0/12"],
      published: () => ({ clientCaPem: undefined, frontProxy: undefined }),
    },
    signal,
  );
}

/** The same transport; what the server forbids is written down as well as answered. */
export function notingRefusals(inner: Transport, user: User, refusals: string[]): Transport {
  const note = (status: { readonly reason?: string; readonly message?: string }): void => {
    if (status.reason === "Forbidden") refusals.push(`${user.name}: ${status.message}`);
  };
  return {
    send: async (call, signal) => {
      const result = await inner.send(call, signal);
      if (!result.ok) note(result.status);
      return result;
    },
    raw: async (path, signal) => {
      const result = await inner.raw(path, signal);
      if (!result.ok) note(result.status);
      return result;
    },
    watch: (call, signal) => watch(call, signal),
  };
  async function* watch(
    call: WatchCall,
    signal: AbortSignal,
  ): AsyncGenerator<readonly WatchEvent[]> {
    for await (const events of inner.watch(call, signal)) {
      for (const event of events) if (event.type === "ERROR") note(event.object);
      yield events;
    }
  }
}
