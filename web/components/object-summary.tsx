/** What an object is at a glance: metadata, conditions, owners, and why a pod is still pending. */
import { useContext } from "preact/hooks";
import { ageOf } from "../models/age.ts";
import type { KubeObject, PodObject } from "../models/kube-object.ts";
import { objectLink, type Resource, resourceOfKind } from "../models/resources.ts";
import { terminalLink } from "../models/terminal-target.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useNow } from "../state/use-now.ts";
import { Link } from "./link.tsx";

export function ObjectSummary(props: { readonly resource: Resource; readonly object: KubeObject }) {
  const { resources } = useContext(DashboardContext);
  const nowMs = useNow();
  const { metadata, status } = props.object;
  const isPod = props.resource.group === "" && props.resource.plural === "pods";
  return (
    <>
      {isPod && <PodSummary pod={props.object as PodObject} />}
      <dl class="facts">
        <dt>Created</dt>
        <dd>
          <time dateTime={metadata.creationTimestamp}>
            {ageOf(metadata.creationTimestamp, nowMs)} ago ({metadata.creationTimestamp})
          </time>
        </dd>
        {metadata.deletionTimestamp !== undefined && (
          <>
            <dt>Deleting since</dt>
            <dd>{metadata.deletionTimestamp}</dd>
          </>
        )}
        <dt>UID</dt>
        <dd>{metadata.uid}</dd>
        {(metadata.ownerReferences ?? []).map(({ apiVersion, kind, name, uid }) => {
          const owner = resourceOfKind(resources, apiVersion, kind);
          return (
            <div key={uid}>
              <dt>Owner</dt>
              <dd>
                {owner === undefined ? (
                  `${kind} ${name}`
                ) : (
                  <Link
                    to={objectLink(
                      owner,
                      owner.isNamespaced ? (metadata.namespace ?? "") : "",
                      name,
                    )}
                  >
                    {kind} {name}
                  </Link>
                )}
              </dd>
            </div>
          );
        })}
        <Pairs title="Labels" pairs={metadata.labels} />
        <Pairs title="Annotations" pairs={metadata.annotations} />
      </dl>
      {(status?.conditions?.length ?? 0) > 0 && (
        <section class="scrolled" aria-label="Conditions">
          <h2>Conditions</h2>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Type</th>
                <th scope="col">Status</th>
                <th scope="col">Reason</th>
                <th scope="col">Message</th>
                <th scope="col">Since</th>
              </tr>
            </thead>
            <tbody>
              {status?.conditions?.map((condition) => (
                <tr key={condition.type}>
                  <td>{condition.type}</td>
                  <td>{condition.status}</td>
                  <td>{condition.reason}</td>
                  <td class="message">{condition.message}</td>
                  <td>{ageOf(condition.lastTransitionTime, nowMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

const TERMINALS = [
  ["exec", "terminal"],
  ["attach", "attach"],
  ["debug", "debug"],
] as const;

function PodSummary({ pod }: { readonly pod: PodObject }) {
  const { namespace = "", name } = pod.metadata;
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const isRunning = pod.status?.phase === "Running";
  const node = pod.spec?.nodeName;
  return (
    <>
      {scheduled?.status === "False" && (
        <p class="problem">
          The scheduler found no node ({scheduled.reason}): {scheduled.message}
        </p>
      )}
      <dl class="facts">
        <dt>Phase</dt>
        <dd>{pod.status?.phase}</dd>
        <dt>Node</dt>
        <dd>
          {node === undefined ? (
            "not scheduled"
          ) : (
            <Link to={objectLink({ group: "", version: "v1", plural: "nodes" }, "", node)}>
              {node}
            </Link>
          )}
        </dd>
        <dt>Containers</dt>
        <dd>
          {(pod.spec?.containers ?? []).map((container) => (
            <span key={container.name} class="container">
              {container.name}{" "}
              {isRunning &&
                TERMINALS.map(([mode, title]) => (
                  <span key={mode}>
                    <a
                      href={terminalLink({ namespace, pod: name }, container.name, mode)}
                      target="_blank"
                      rel="noreferrer"
                      aria-label={`${title} in ${container.name}`}
                    >
                      {title}
                    </a>{" "}
                  </span>
                ))}
            </span>
          ))}
        </dd>
      </dl>
    </>
  );
}

function Pairs(props: {
  readonly title: string;
  readonly pairs: Readonly<Record<string, string>> | undefined;
}) {
  const pairs = Object.entries(props.pairs ?? {});
  if (pairs.length === 0) return null;
  return (
    <>
      <dt>{props.title}</dt>
      <dd>
        {pairs.map(([key, value]) => (
          <code key={key} class="pair">
            {key}={value.length > 200 ? `${value.slice(0, 200)}…` : value}
          </code>
        ))}
      </dd>
    </>
  );
}
