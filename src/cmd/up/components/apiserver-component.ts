/** The API server as a component of `k8ts up`: ready when a fresh cluster's own objects are there. */
import { untilAborted } from "#lib/async/aborted.ts";
import type { RunningApiServer } from "../../apiserver/run.ts";
import { runApiServer } from "../../apiserver/run.ts";
import type { Surroundings } from "../../apiserver/server-options.ts";
import type { Component } from "../component.ts";
import { rewriteSecrets, withEncryptedSecrets } from "../encrypt-secrets.ts";

/** Grace period of requests in flight at shutdown. */
const GRACE_MS = 1_000;

/** Components of this process whose state `kubectl get componentstatuses` shows. */
const REPORTED = ["controller-manager", "scheduler"];

export const APISERVER = "apiserver";

export function apiServerComponent(
  surroundings: Surroundings,
  onRunning: (server: RunningApiServer) => void,
  needs: readonly string[],
): Component {
  return {
    name: APISERVER,
    needs,
    run: (cluster, signal) => {
      const components = Object.fromEntries(
        REPORTED.map((name) => [name, () => cluster.health(name)]),
      );
      const { server: given, encryptSecrets } = cluster.flags;
      const flags = withEncryptedSecrets(given, encryptSecrets);
      const starting = runApiServer(flags, { ...surroundings, components }, signal);
      const ready = starting.then(async (server) => {
        onRunning(server);
        await server.bootstrapped;
        if (encryptSecrets !== undefined) await rewriteSecrets(server, surroundings.logger, signal);
      });
      const done = starting.then(async (server) => {
        await untilAborted(signal);
        await server.close(GRACE_MS);
      });
      return { ready, done };
    },
  };
}
