/** `k8ts controller-manager`: the controllers alone, against any API server of version 1.36. */
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { addFeatureMetrics } from "#apiserver/metrics/feature-metrics.ts";
import { addProcessMetrics } from "#apiserver/metrics/process-metrics.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease } from "#client/leader-transport.ts";
import type { RateLimit } from "#client/rate-limit.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { withoutManagedFields } from "#client/without-managed-fields.ts";
import {
  type AnyController,
  builtInControllers,
  optInControllers,
} from "#controllers/registry/controllers.ts";
import {
  controllerNames,
  offByDefault,
  selectControllers,
  selectionOf,
  whyAbsent,
} from "#controllers/registry/select.ts";
import { collectWhenIdle, ownHeap, QUIET_SERVER_MS } from "#lib/idle-gc.ts";
import { Metrics } from "#lib/metrics.ts";
import { releaseProgramPages } from "#lib/native/release-program-pages.ts";
import { type Random, systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import type { Command } from "../command.ts";
import {
  type ComponentServerOptions,
  startComponentServer,
} from "../component/component-server.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import {
  CLIENT_CA_HELP,
  clientCaOf,
  servingCertificate,
} from "../component/serving-certificate.ts";
import {
  addAcceptedFlags,
  flagsWithoutEffect,
  refuseOtherValues,
} from "../flags/accepted-flags.ts";
import { connectionOf, portOf } from "../flags/connection-flags.ts";
import { checkFeatureGates, featureSwitches } from "../flags/feature-gates.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError, parseFlags } from "../flags/parse-flags.ts";
import { durationOf } from "../flags/read-flags.ts";
import { AccountClients } from "./account-clients.ts";
import { addControllerFlags, controllerOptionsOf } from "./controller-flags.ts";
import { withLeaderMetric } from "./leader-metrics.ts";
import { leaderTransports } from "./leader-transports.ts";
import { addPaceFlags, rateLimitFor, rateLimitOf, withPace } from "./pace-flags.ts";
import { runControllers } from "./run-controllers.ts";
import { UPSTREAM_FLAGS } from "./upstream-flags.ts";
import { addWorkerFlags, withWorkers, workersOf } from "./worker-flags.ts";

const CONTROLLERS_HELP =
  "`*` for all that are on by default, `name` to add one, `-name` to leave one out. " +
  `All: ${controllerNames.join(", ")}. Off by default: ${offByDefault.join(", ")}`;

interface Config {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly controllers: readonly AnyController[];
  /** Asked for by name, and not to be had. */
  readonly missing: readonly string[];
  readonly collectGarbage: boolean;
  readonly resources: ResourceSet;
  readonly garbageWorkers: number | undefined;
  readonly useAccounts: boolean;
  readonly rateLimit: RateLimit | undefined;
  readonly election: ElectionConfig | undefined;
  readonly serving: Pick<ComponentServerOptions, "host" | "port" | "tls">;
}

interface ElectionConfig {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

export const controllerManagerCommand: Command = {
  name: "controller-manager",
  summary: "run the controllers",
  run: async (args, signal) => {
    const parser = managerFlags();
    const parsed = parseFlags(parser, args, (flags) => configOf(flags, systemClock, systemRandom));
    if ("exitCode" in parsed) return parsed.exitCode;
    const { clock, random, logger } = processSurroundings(parsed.config.log);
    const { areAllKnown } = featureSwitches(parser.opts().featureGates);
    const withoutEffect = flagsWithoutEffect(UPSTREAM_FLAGS, parser.opts()).filter(
      (flag) => flag !== "--feature-gates" || !areAllKnown,
    );
    if (withoutEffect.length > 0)
      logger.warn("flags without effect", { flags: withoutEffect.join(" ") });
    const { missing } = parsed.config;
    for (const name of missing)
      logger.warn("a controller does not run", { controller: name, why: whyAbsent(name) });
    const { connection, election, controllers, serving, useAccounts, rateLimit } = parsed.config;
    const fieldManager = "kube-controller-manager";
    const metrics = new Metrics();
    addProcessMetrics(metrics, clock.nowMs() / 1000);
    addFeatureMetrics(metrics);
    const requests = new RequestMetrics(metrics, clock);
    const held = new HeldLease(clock);
    using clients = new AccountClients({
      ...{ connection, clock, random, useAccounts, fieldManager },
      open: leaderTransports(fieldManager, requests, clock, held),
      limitFor: (name) => rateLimitFor(name, rateLimit),
    });
    const client = clients.create("shared");
    const around = { metrics, client, clock, random, logger };
    if (serving.port !== 0) await startComponentServer({ ...serving, ...around }, signal);
    const { collectGarbage, garbageWorkers, resources } = parsed.config;
    const clientFor = (name: string) => clients.clientFor(name);
    const lead = (leading: AbortSignal): Promise<void> =>
      runControllers(
        {
          ...{ controllers, resources, collectGarbage, garbageWorkers, client, clientFor },
          ...{ clock, random, logger, metrics, transform: withoutManagedFields },
        },
        leading,
      );
    collectWhenIdle(clock, ownHeap({ trimNative: true }), signal, {
      quietMs: QUIET_SERVER_MS,
      onRest: releaseProgramPages,
    });
    if (election === undefined) await lead(signal);
    else {
      // A client of its own: others that ask a lot must not cost it the lease.
      const voter = clients.create("leader-election");
      const identity = `${hostname()}_${random.uuid()}`;
      await runLeaderElection(
        { client: voter, clock, random, logger, identity, held, ...election },
        withLeaderMetric(metrics, election.name, lead),
        signal,
      );
    }
    return 0;
  },
};

/** All that upstream's controller manager takes. */
export function managerFlags(): Parser {
  const parser = addVersionFlag(new Parser("k8ts controller-manager"));
  return addAcceptedFlags(
    addLogFlags(addPaceFlags(addWorkerFlags(addControllerFlags(parser)))),
    UPSTREAM_FLAGS,
  )
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option("--controllers <names>", CONTROLLERS_HELP, "*")
    .option(
      "--use-service-account-credentials [bool]",
      "let each controller act as its own service account",
      "true",
    )
    .option("--bind-address <ip>", "where health and metrics are served", "0.0.0.0")
    .option("--secure-port <port>", "of health and metrics; 0 for none", "10257")
    .option("--tls-cert-file <file>", "to serve with; one of its own unless given")
    .option("--tls-private-key-file <file>", "its key")
    .option("--client-ca-file <file>", CLIENT_CA_HELP)
    .option("--enable-garbage-collector [bool]", "delete what has lost its owners", "true")
    .option("--leader-elect [bool]", "work only while holding the lease", "true")
    .option("--leader-elect-lease-duration <duration>", "how long others wait", "15s")
    .option("--leader-elect-renew-deadline <duration>", "when to give up", "10s")
    .option("--leader-elect-retry-period <duration>", "how often to try", "2s")
    .option("--leader-elect-resource-name <name>", "of the lease", "kube-controller-manager")
    .option("--leader-elect-resource-namespace <name>", "of the lease", "kube-system");
}

function configOf(flags: Readonly<Record<string, unknown>>, clock: Clock, random: Random): Config {
  refuseOtherValues(UPSTREAM_FLAGS, flags);
  checkFeatureGates(flags.featureGates);
  const text = (name: string): string => String(flags[name] ?? "");
  const resources = new ResourceSet();
  const { enabled: features } = featureSwitches(flags.featureGates);
  const options = { ...controllerOptionsOf(flags, clock), resources, features };
  const selection = selectionOf(text("controllers").split(","));
  const { unknown } = selection;
  if (unknown.length > 0)
    throw new FlagError(
      `--controllers: ${unknown.map((n) => JSON.stringify(n)).join(", ")} is not known`,
    );
  const all = [...builtInControllers(options), ...optInControllers];
  const here = new Set([...all.map(({ name }) => name), "garbage-collector-controller"]);
  return {
    log: logFlagsOf({ v: Number(text("v")), loggingFormat: text("loggingFormat") }),
    missing: selection.named.filter((name) => !here.has(name)),
    connection: connectionOf(text("kubeconfig"), text("master")),
    controllers: withPace(withWorkers(selectControllers(all, selection), flags), flags, random),
    resources,
    garbageWorkers: workersOf("garbage-collector-controller", flags),
    rateLimit: rateLimitOf(flags),
    collectGarbage:
      selection.has("garbage-collector-controller") && text("enableGarbageCollector") !== "false",
    useAccounts: text("useServiceAccountCredentials") !== "false",
    serving: {
      host: text("bindAddress"),
      port: portOf(text("securePort")),
      tls: servingCertificate(
        { certFile: text("tlsCertFile"), keyFile: text("tlsPrivateKeyFile") },
        hostname(),
        clock,
      ),
      ...clientCaOf(text("clientCaFile")),
    },
    election:
      text("leaderElect") === "false"
        ? undefined
        : {
            namespace: text("leaderElectResourceNamespace"),
            name: text("leaderElectResourceName"),
            leaseDurationMs: durationOf(flags, "leader-elect-lease-duration"),
            renewDeadlineMs: durationOf(flags, "leader-elect-renew-deadline"),
            retryPeriodMs: durationOf(flags, "leader-elect-retry-period"),
          },
  };
}
