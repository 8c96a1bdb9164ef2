/** Flags that say how many keys a controller works on at the same time. */
import type { Command as Parser } from "commander";
import type { AnyController } from "#controllers/controllers.ts";
import { FlagError } from "./parse-flags.ts";

/** The middle of `--concurrent-…-syncs`, and the controller that it is about. */
const CONTROLLERS: Readonly<Record<string, string>> = {
  "cron-job": "cronjob-controller",
  daemonset: "daemonset-controller",
  deployment: "deployment-controller",
  endpoint: "endpoints-controller",
  ephemeralvolume: "ephemeral-volume-controller",
  "horizontal-pod-autoscaler": "horizontal-pod-autoscaler-controller",
  job: "job-controller",
  namespace: "namespace-controller",
  rc: "replicationcontroller-controller",
  replicaset: "replicaset-controller",
  "resource-quota": "resourcequota-controller",
  resourceclaim: "resourceclaim-controller",
  "service-endpoint": "endpointslice-controller",
  "serviceaccount-token": "serviceaccount-token-controller",
  statefulset: "statefulset-controller",
  "ttl-after-finished": "ttl-after-finished-controller",
  "validating-admission-policy-status": "validatingadmissionpolicy-status-controller",
};

export function addWorkerFlags(parser: Parser): Parser {
  for (const [middle, controller] of Object.entries(CONTROLLERS)) {
    parser.option(`--concurrent-${middle}-syncs <number>`, `keys at once of ${controller}`);
  }
  return parser;
}

/** The same controllers, with as many workers as the flags say. */
export function withWorkers(
  controllers: readonly AnyController[],
  flags: Readonly<Record<string, unknown>>,
): readonly AnyController[] {
  const workers = new Map(
    Object.entries(CONTROLLERS).flatMap(([middle, controller]) => {
      const flag = `concurrent-${middle}-syncs`;
      const value = flags[flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
      return value === undefined ? [] : [[controller, countOf(flag, String(value))] as const];
    }),
  );
  return controllers.map((controller) => {
    const count = workers.get(controller.name);
    return count === undefined ? controller : { ...controller, workers: count };
  });
}

function countOf(flag: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) {
    throw new FlagError(`--${flag}: must be a number from 1 to 1000`);
  }
  return count;
}
