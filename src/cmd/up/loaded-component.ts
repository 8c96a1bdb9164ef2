/**
 * A component whose code is loaded when it starts: the API server answers before the code of controllers,
 * scheduler and nodes is loaded.
 */
import type { Component, RunComponent } from "./component.ts";

export function loadedComponent(
  name: string,
  needs: readonly string[],
  load: () => Promise<RunComponent>,
): Component {
  return {
    name,
    needs,
    run: (cluster, signal) => {
      const running = load().then((run) => run(cluster, signal));
      return {
        ready: running.then(({ ready }) => ready),
        done: running.then(({ done }) => done),
        healthy: async () => {
          const { healthy } = await running;
          return (await healthy?.()) ?? { well: true, message: "ok" };
        },
      };
    },
  };
}
