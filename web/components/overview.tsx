/** The cluster at a glance: nodes, what they offer, what is requested and used of it, pods, warnings. */
import { useContext } from "preact/hooks";
import type { OverviewMessage } from "../../src/dashboard/live/messages.ts";
import type { Warning } from "../../src/dashboard/overview/newest-warnings.ts";
import type { NodeLine, Usage } from "../../src/dashboard/overview/overview-counts.ts";
import { ageOf } from "../models/age.ts";
import { bytesText } from "../models/bytes-text.ts";
import { objectLink, resourceOfKind, tableLink } from "../models/resources.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useOverview } from "../state/use-live.ts";
import { useNow } from "../state/use-now.ts";
import { Link } from "./link.tsx";
import { Problem } from "./problem.tsx";

const NODES = { group: "", version: "v1", plural: "nodes" };

export function Overview() {
  const { overview, warnings, error } = useOverview();
  return (
    <>
      <h1>Cluster</h1>
      <Problem text={error} />
      {overview === undefined && error === undefined && <p class="loading">Counting…</p>}
      {overview !== undefined && (
        <>
          <Figures overview={overview} />
          <Nodes lines={overview.figures.nodeLines} total={overview.figures.nodes.total} />
        </>
      )}
      {warnings !== undefined && <Warnings warnings={warnings} />}
    </>
  );
}

function Figures({ overview }: { readonly overview: OverviewMessage }) {
  const { figures, used, isCounted, nodesTotal, podsCounted, podsTotal } = overview;
  const { nodes, cpuCores, memoryBytes, pods, phases } = figures;
  return (
    <>
      <section class="cards" aria-label="Figures">
        <div class="card">
          <h2>Nodes</h2>
          <p class="figure">
            {nodes.ready} / {nodes.total}
          </p>
          <p>ready{nodes.cordoned > 0 && `, ${nodes.cordoned} cordoned`}</p>
        </div>
        <UsageCard title="CPU requested" usage={cpuCores} used={used?.cpuCores} text={cores} />
        <UsageCard
          title="Memory requested"
          usage={memoryBytes}
          used={used?.memoryBytes}
          text={bytesText}
        />
        <UsageCard title="Pods" usage={pods} used={undefined} text={String} />
        <div class="card">
          <h2>Phases</h2>
          {phases.length === 0 && <p>no pods</p>}
          {phases.map(({ phase, count }) => (
            <p key={phase}>
              <span class={`state ${phase.toLowerCase()}`}>{phase}</span> {count}
            </p>
          ))}
        </div>
      </section>
      {!isCounted && (
        <p role="status">
          {nodes.total} of {nodesTotal} nodes
          {podsTotal > 0 && ` and ${podsCounted} of ${podsTotal} pods`} are counted so far.
        </p>
      )}
    </>
  );
}

function Nodes({ lines, total }: { readonly lines: readonly NodeLine[]; readonly total: number }) {
  return (
    <section aria-label="Nodes">
      <h2>Nodes</h2>
      {total === 0 && (
        <p>
          The cluster has no nodes: pods stay Pending. <code>k8ts up --simulate 3</code> runs
          simulated ones.
        </p>
      )}
      <ul class="nodes">
        {lines.map(({ name, isReady, isCordoned }) => (
          <li key={name}>
            <Link to={objectLink(NODES, "", name)}>{name}</Link>{" "}
            <span class={`state ${isReady ? "running" : "failed"}`}>
              {isReady ? "Ready" : "NotReady"}
            </span>
            {isCordoned && <span class="state pending">Cordoned</span>}
          </li>
        ))}
      </ul>
      {total > lines.length && (
        <p>
          <Link to={tableLink(NODES)}>All {total} nodes</Link>
        </p>
      )}
    </section>
  );
}

function cores(value: number): string {
  return value.toFixed(1);
}

function UsageCard(props: {
  readonly title: string;
  readonly usage: Usage;
  readonly used: number | undefined;
  text(value: number): string;
}) {
  const { title, usage, used, text } = props;
  return (
    <div class="card">
      <h2>{title}</h2>
      <p class="figure">{text(usage.requested)}</p>
      <p>
        of {text(usage.capacity)}
        {used !== undefined && `, ${text(used)} used`}
      </p>
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

function Warnings({ warnings }: { readonly warnings: readonly Warning[] }) {
  const { resources } = useContext(DashboardContext);
  const nowMs = useNow();
  return (
    <section aria-label="Warnings">
      <h2>Warnings</h2>
      {warnings.length === 0 && <p>No warnings.</p>}
      <ul class="events">
        {warnings.map(({ uid, reason, message, time, ...object }) => {
          const resource = resourceOfKind(resources, object.apiVersion, object.kind);
          return (
            <li key={uid}>
              <span class="state failed">{reason}</span>{" "}
              {resource === undefined ? (
                `${object.kind} ${object.name}`
              ) : (
                <Link to={objectLink(resource, object.namespace, object.name)}>
                  {object.kind} {object.namespace === "" ? "" : `${object.namespace}/`}
                  {object.name}
                </Link>
              )}{" "}
              <span class="message">{message}</span> <time>{ageOf(time, nowMs)}</time>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
