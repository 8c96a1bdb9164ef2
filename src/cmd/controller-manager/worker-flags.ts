/** Flags that say how many keys a controller works on at the same time. */
import type { Command as Parser } from "commander";
import type { AnyController } from "#controllers/registry/controllers.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { textOf } from "../flags/read-flags.ts";

/** Flags, and the controller that each is about. */
const CONTROLLERS: Readonly<Record<string, string>> = {
  "concurrent-cron-job-syncs": "cronjob-controller",
  "concurrent-daemonset-syncs": "daemonset-controller",
  "concurrent-deployment-syncs": "deployment-controller",
  "concurrent-device-taint-eviction-syncs": "device-taint-eviction-controller",
  "concurrent-endpoint-syncs": "endpoints-controller",
  "concurrent-ephemeralvolume-syncs": "ephemeral-volume-controller",
  "concurrent-gc-syncs": "garbage-collector-controller",
  "concurrent-horizontal-pod-autoscaler-syncs": "horizontal-pod-autoscaler-controller",
  "concurrent-job-syncs": "job-controller",
  "concurrent-namespace-syncs": "namespace-controller",
  "concurrent-rc-syncs": "replicationcontroller-controller",
  "concurrent-replicaset-syncs": "replicaset-controller",
  "concurrent-resource-quota-syncs": "resourcequota-controller",
  "concurrent-resourceclaim-syncs": "resourceclaim-controller",
  "concurrent-service-endpoint-syncs": "endpointslice-controller",
  "concurrent-serviceaccount-token-syncs": "serviceaccount-token-controller",
  "concurrent-statefulset-syncs": "statefulset-controller",
  "concurrent-ttl-after-finished-syncs": "ttl-after-finished-controller",
  "concurrent-validating-admission-policy-status-syncs":
    "validatingadmissionpolicy-status-controller",
  "mirroring-concurrent-service-endpoint-syncs": "endpointslice-mirroring-controller",
};

export function addWorkerFlags(parser: Parser): Parser {
  for (const [flag, controller] of Object.entries(CONTROLLERS)) {
    parser.option(`--${flag} <number>`, `keys at once of ${controller}`);
  }
  return parser;
}

/** The same controllers, with as many workers as the flags say. */
export function withWorkers(
  controllers: readonly AnyController[],
  flags: Readonly<Record<string, unknown>>,
): readonly AnyController[] {
  return controllers.map((controller) => {
    const workers = workersOf(controller.name, flags);
    return workers === undefined ? controller : { ...controller, workers };
  });
}

/** As many as a flag says, if one does. */
export function workersOf(
  controller: string,
  flags: Readonly<Record<string, unknown>>,
): number | undefined {
  const flag = Object.keys(CONTROLLERS).find((name) => CONTROLLERS[name] === controller);
  const value = flag === undefined ? undefined : textOf(flags, flag);
  return flag === undefined || value === undefined ? undefined : countOf(flag, value);
}

function countOf(flag: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1_000) {
    throw new FlagError(`--${flag}: must be a number from 1 to 1000`);
  }
  return count;
}
