/** The cluster at a glance: nodes, what they offer and what is requested of it, pods, warnings. */
import { useContext } from "preact/hooks";
import { ageOf } from "../models/age.ts";
import { bytesText, clusterOverview, isReady, type Usage } from "../models/cluster-overview.ts";
import { newestFirst, timeOfEvent } from "../models/event-list.ts";
import type { EventObject, KubeObject, PodObject } from "../models/kube-object.ts";
import { objectLink, resourceOfKind } from "../models/resources.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useObjects } from "../state/use-live.ts";
import { useNow } from "../state/use-now.ts";
import { Link } from "./link.tsx";
import { Problem } from "./problem.tsx";

const WARNINGS_SHOWN = 50;
const NODES_SHOWN = 100;
const NODES = { group: "", version: "v1", plural: "nodes" };

export function Overview() {
  const nodes = useObjects<KubeObject>({ path: "/api/v1/nodes" });
  const pods = useObjects<PodObject>({ path: "/api/v1/pods" });
  const warnings = useObjects<EventObject>({
    path: "/api/v1/events",
    fieldSelector: "type=Warning",
  });
  const overview = clusterOverview(nodes.objects, pods.objects);
  return (
    <>
      <h1>Cluster</h1>
      <Problem text={nodes.error ?? pods.error ?? warnings.error} />
      <section class="cards" aria-label="Figures">
        <div class="card">
          <h2>Nodes</h2>
          <p class="figure">
            {overview.nodes.ready} / {overview.nodes.total}
          </p>
          <p>ready{overview.nodes.cordoned > 0 && `, ${overview.nodes.cordoned} cordoned`}</p>
        </div>
        <UsageCard title="CPU requested" usage={overview.cpuCores} text={(n) => n.toFixed(1)} />
        <UsageCard title="Memory requested" usage={overview.memoryBytes} text={bytesText} />
        <UsageCard title="Pods" usage={overview.pods} text={String} />
        <div class="card">
          <h2>Phases</h2>
          {overview.phases.length === 0 && <p>no pods</p>}
          {overview.phases.map(({ phase, count }) => (
            <p key={phase}>
              <span class={`state ${phase.toLowerCase()}`}>{phase}</span> {count}
            </p>
          ))}
        </div>
      </section>
      {pods.isTruncated && <p>Requests and phases are those of the first 5,000 pods.</p>}
      <section aria-label="Nodes">
        <h2>Nodes</h2>
        {nodes.isReady && nodes.objects.length === 0 && (
          <p>
            The cluster has no nodes: pods stay Pending. <code>k8ts up --simulate 3</code> runs
            simulated ones.
          </p>
        )}
        <ul class="nodes">
          {nodes.objects.slice(0, NODES_SHOWN).map((node) => (
            <li key={node.metadata.uid}>
              <Link to={objectLink(NODES, "", node.metadata.name)}>{node.metadata.name}</Link>{" "}
              <span class={`state ${isReady(node) ? "running" : "failed"}`}>
                {isReady(node) ? "Ready" : "NotReady"}
              </span>
              {node.spec?.unschedulable === true && <span class="state pending">Cordoned</span>}
            </li>
          ))}
        </ul>
      </section>
      <Warnings events={warnings.objects} isReady={warnings.isReady} />
    </>
  );
}

function UsageCard(props: {
  readonly title: string;
  readonly usage: Usage;
  text(value: number): string;
}) {
  const { title, usage, text } = props;
  return (
    <div class="card">
      <h2>{title}</h2>
      <p class="figure">{text(usage.requested)}</p>
      <p>of {text(usage.capacity)}</p>
      <meter
        aria-label={title}
        min={0}
        max={usage.capacity || 1}
        high={usage.capacity * 0.9}
        value={usage.requested}
      />
    </div>
  );
}

function Warnings(props: { readonly events: readonly EventObject[]; readonly isReady: boolean }) {
  const { resources } = useContext(DashboardContext);
  const nowMs = useNow();
  const shown = newestFirst(props.events).slice(0, WARNINGS_SHOWN);
  return (
    <section aria-label="Warnings">
      <h2>Warnings</h2>
      {props.isReady && shown.length === 0 && <p>No warnings.</p>}
      <ul class="events">
        {shown.map((event) => {
          const {
            apiVersion = "",
            kind = "",
            name = "",
            namespace = "",
          } = event.involvedObject ?? {};
          const resource = resourceOfKind(resources, apiVersion, kind);
          return (
            <li key={event.metadata.uid}>
              <span class="state failed">{event.reason}</span>{" "}
              {resource === undefined ? (
                `${kind} ${name}`
              ) : (
                <Link to={objectLink(resource, namespace, name)}>
                  {kind} {namespace === "" ? "" : `${namespace}/`}
                  {name}
                </Link>
              )}{" "}
              <span class="message">{event.message}</span>{" "}
              <time>{ageOf(timeOfEvent(event), nowMs)}</time>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
