/** The workloads of a namespace as a graph: Ingress → Service → endpoints, owners → pods → node. */
import { useContext } from "preact/hooks";
import type { KubeObject } from "../models/kube-object.ts";
import { collectionPath, findResource, objectLink, resourceOfKind } from "../models/resources.ts";
import { type GraphNode, workloadGraph } from "../models/workload-graph.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useObjects } from "../state/use-live.ts";
import { Link } from "./link.tsx";
import { Problem } from "./problem.tsx";

const KINDS: readonly (readonly [group: string, plural: string])[] = [
  ["networking.k8s.io", "ingresses"],
  ["", "services"],
  ["discovery.k8s.io", "endpointslices"],
  ["apps", "deployments"],
  ["apps", "statefulsets"],
  ["apps", "daemonsets"],
  ["apps", "replicasets"],
  ["batch", "cronjobs"],
  ["batch", "jobs"],
  ["", "pods"],
];
const PODS = KINDS.findIndex(([, plural]) => plural === "pods");
const ENDPOINT_SLICES = KINDS.findIndex(([, plural]) => plural === "endpointslices");
/** Five columns fit into a window of 1,280 pixels. */
const COLUMN_PX = 214;
const ROW_PX = 46;
const BOX_WIDTH_PX = 186;
const BOX_HEIGHT_PX = 36;

export function GraphView({ namespace }: { readonly namespace: string }) {
  const { resources } = useContext(DashboardContext);
  const followed = KINDS.map(([group, plural]) => {
    const resource = findResource(resources, group, plural);
    return resource && { path: collectionPath(resource, namespace) };
  });
  // The list of kinds never changes, so the hooks are always called in the same order.
  const lists = followed.map((each) => useObjects<KubeObject>(each));
  // Endpoints of pods that are not known yet would be shown as addresses.
  const arePodsKnown = lists[PODS]?.isReady === true;
  const shown = lists.filter((_, index) => index !== ENDPOINT_SLICES || arePodsKnown);
  const graph = workloadGraph(shown.flatMap(({ objects }) => objects));
  const places = new Map(graph.nodes.map((node) => [node.id, node]));
  const isReady = lists.every((list, index) => list.isReady || followed[index] === undefined);
  return (
    <>
      <h1>Workloads of {namespace}</h1>
      <Problem text={lists.find(({ error }) => error !== undefined)?.error} />
      {isReady && graph.nodes.length === 0 && (
        <p class="notice">The namespace has no workloads. Choose another one at the top.</p>
      )}
      {graph.isTruncated && <p>The namespace has more objects than are shown.</p>}
      <div class="graph" style={{ height: `${graph.rows * ROW_PX + 20}px` }}>
        <svg width={5 * COLUMN_PX} height={graph.rows * ROW_PX + 20} aria-hidden="true">
          {graph.edges.map(({ from, to, isReady }) => (
            <path
              key={`${from} ${to}`}
              class={isReady ? "" : "pending"}
              d={curve(places.get(from), places.get(to))}
            />
          ))}
        </svg>
        <ul>
          {graph.nodes.map((node) => {
            const { apiVersion = "", kind = "", metadata } = node.object;
            const resource = resourceOfKind(resources, apiVersion, kind);
            return (
              <li
                key={node.id}
                class={node.isHealthy ? "healthy" : "unhealthy"}
                style={{ left: `${node.column * COLUMN_PX}px`, top: `${node.row * ROW_PX}px` }}
              >
                <small>
                  {node.kind}
                  {node.note !== undefined && ` · ${node.note}`}
                </small>
                {resource === undefined ? (
                  node.name
                ) : (
                  <Link to={objectLink(resource, metadata.namespace ?? "", metadata.name)}>
                    {node.name}
                  </Link>
                )}
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}

function curve(from: GraphNode | undefined, to: GraphNode | undefined): string {
  if (from === undefined || to === undefined) return "";
  const x1 = from.column * COLUMN_PX + BOX_WIDTH_PX;
  const y1 = from.row * ROW_PX + BOX_HEIGHT_PX / 2;
  const x2 = to.column * COLUMN_PX;
  const y2 = to.row * ROW_PX + BOX_HEIGHT_PX / 2;
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
