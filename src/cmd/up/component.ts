/**
 * A part of the cluster that `k8ts up` runs: an entry in the table of components.ts.
 *
 * Promises of the runner (run-components.ts):
 * 1. A component starts when everything it needs is ready.
 * 2. It is stopped before anything that it needs.
 * 3. A component that ends by itself ends the cluster.
 */
import type { User } from "#apiserver/request/request.ts";
import type { Transport } from "#client/transport.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { RunningSimulation } from "#sim/run-simulation.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Deciders } from "../why/decisions.ts";
import type { UpFlags } from "./up-flags.ts";

export interface Component {
  readonly name: string;
  /** Names of components that must be ready before this one starts. */
  readonly needs: readonly string[];
  readonly run: RunComponent;
}

/** Starts a component. It lives until the signal aborts. */
export type RunComponent = (cluster: ClusterContext, signal: AbortSignal) => RunningComponent;

export interface RunningComponent {
  /** Resolves when others may rely on it; rejects if it cannot start. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended and left nothing behind; rejects if it failed. */
  readonly done: Promise<void>;
  /** Its state for ComponentStatus and `k8ts status`; healthy unless it says otherwise. */
  healthy?(): Promise<ComponentHealth>;
}

export interface ComponentHealth {
  readonly well: boolean;
  readonly message: string;
}

/** What every component of one process shares. */
export interface ClusterContext {
  readonly flags: UpFlags;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly hostname: string;
  /** Networks of nodes that are namespaces of this machine: they may use what the cluster serves. */
  readonly nodeSubnets: readonly string[];
  /** For `k8ts why`: components that decide put their records here. */
  readonly deciders: Deciders;
  /** Simulated nodes of this process, once they run. */
  readonly simulated: { usageOf: RunningSimulation["usageOf"] | undefined };
  /** The API server of this process. Throws until the component `apiserver` is ready. */
  server(): RunningApiServer;
  /** Calls the API server directly as this user, through authentication, authorization and admission. */
  transportAs(user: User, userAgent: string): Transport;
  /** The state of another component. */
  health(component: string): Promise<ComponentHealth>;
}
