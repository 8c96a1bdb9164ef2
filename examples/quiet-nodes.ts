/**
 * A scheduler plugin of one's own: nodes with the annotation `example.com/quiet-until` take no new
 * pods before that time, and nodes with fewer pods are preferred.
 *
 *     npm install k8ts tsx && npx tsx quiet-nodes.ts ~/.k8ts/kubeconfig
 *
 * Pods with `schedulerName: quiet` are scheduled by it.
 */
import { fileURLToPath } from "node:url";
import { definePlugin, FITS, type PluginFactory, runScheduler, unresolvable } from "k8ts/scheduler";

const ANNOTATION = "example.com/quiet-until";
const QUIET = unresolvable("node(s) were quiet");

export const quietNodes: PluginFactory = {
  name: "QuietNodes",
  create: (_args, { clock }) =>
    definePlugin<undefined, undefined>({
      name: "QuietNodes",
      filter: (_state, _pod, { node }) => {
        const until = node?.metadata.annotations?.[ANNOTATION];
        return until !== undefined && Date.parse(until) > clock.nowMs() ? QUIET : FITS;
      },
      score: (_state, _pod, { pods }) => Math.max(0, 100 - pods.size),
      wakeOn: [{ event: "node-added" }, { event: "node-annotations-changed" }],
    }),
};

export const quietConfig = {
  apiVersion: "kubescheduler.config.k8s.io/v1",
  kind: "KubeSchedulerConfiguration",
  profiles: [
    {
      schedulerName: "quiet",
      plugins: { multiPoint: { enabled: [{ name: "QuietNodes", weight: 5 }] } },
    },
  ],
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const [, , kubeconfig] = process.argv;
  await runScheduler({
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    config: quietConfig,
    plugins: [quietNodes],
    signal: stop.signal,
  });
}
