/** A pod for which a node was chosen, and the reserve plugins that agree to that or take it back. */
import { statusCodeOf, timed } from "#scheduler/metrics/extension-points.ts";
import type { Plugin, Rejected, Verdict } from "#scheduler/plugin.ts";
import { FITS } from "#scheduler/plugin.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { runHook } from "./plugin-error.ts";
import type { Profile } from "./profile.ts";

/** A pod on its way to a node. */
export interface Reservation {
  readonly queued: QueuedPod;
  readonly profile: Profile;
  readonly node: NodeInfo;
  readonly states: ReadonlyMap<Plugin, unknown>;
  readonly startMs: number;
}

/** A plugin's answer that the pod may not have the node. */
export interface Refusal {
  readonly plugin: string;
  readonly verdict: Rejected;
}

/** A plugin refused the node after it was chosen. */
export class NodeRejected extends Error {
  override readonly name = "NodeRejected";
  readonly plugin: string;
  readonly verdict: Rejected;

  constructor(plugin: string, verdict: Rejected) {
    super(verdict.reasons.join(", "));
    this.plugin = plugin;
    this.verdict = verdict;
  }
}

export function runReservePlugins({
  queued,
  profile,
  node,
  states,
}: Reservation): Refusal | undefined {
  const reserving = (): Refusal | undefined => {
    for (const plugin of profile.reserve) {
      const verdict = runHook<Verdict>(
        `running Reserve plugin "${plugin.name}"`,
        () => plugin.reserve?.(states.get(plugin), queued.info, node) ?? FITS,
      );
      if (verdict !== FITS) return { plugin: plugin.name, verdict: verdict as Rejected };
    }
    return undefined;
  };
  return timed(profile.observer, "Reserve", reserving, (refusal) =>
    statusCodeOf(refusal?.verdict ?? FITS),
  );
}

export function runUnreservePlugins({ queued, profile, node, states }: Reservation): void {
  const unreserving = (): void => {
    for (const plugin of profile.reserve.toReversed()) {
      plugin.unreserve?.(states.get(plugin), queued.info, node);
    }
  };
  timed(profile.observer, "Unreserve", unreserving, () => "Success");
}
