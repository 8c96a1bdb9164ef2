/** One object: summary, events, YAML with owners, edit, logs, and what can be done with it. */
import { useState } from "preact/hooks";
import type { KubeObject, PodObject } from "../models/kube-object.ts";
import { collectionPath, type Resource, tableLink } from "../models/resources.ts";
import { revisionSource } from "../models/rollout-history.ts";
import { useObjects } from "../state/use-live.ts";
import { replaceQuery } from "../state/use-location.ts";
import { ActionBar } from "./action-bar.tsx";
import { EventsOf } from "./events-of.tsx";
import { HistoryView } from "./history-view.tsx";
import { Lazy } from "./lazy.tsx";
import { Link } from "./link.tsx";
import { LogsView } from "./logs-view.tsx";
import { ObjectSummary } from "./object-summary.tsx";
import { Problem } from "./problem.tsx";
import { RelatedView } from "./related-view.tsx";
import { YamlView } from "./yaml-view.tsx";

export function ObjectView(props: {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly tab: string;
}) {
  const { resource, namespace, name } = props;
  const [tab, setTab] = useState(props.tab);
  const { objects, isReady, error } = useObjects<KubeObject>({
    path: collectionPath(resource, namespace),
    fieldSelector: `metadata.name=${name}`,
  });
  const object = objects[0];
  const tabs = tabsFor(resource);
  const shown = tabs.includes(tab) ? tab : "summary";
  return (
    <>
      <p class="trail">
        <Link to={tableLink(resource, namespace)}>{resource.kind}</Link>
        {namespace !== "" && ` / ${namespace}`}
      </p>
      <h1>{name}</h1>
      <Problem text={error} />
      {isReady && object === undefined && (
        <p class="notice">This object does not exist. It was deleted, or was never created.</p>
      )}
      {object !== undefined && (
        <>
          <ActionBar resource={resource} object={object} />
          <div class="tabs" role="tablist" aria-label="Parts of the object">
            {tabs.map((each) => (
              <button
                key={each}
                type="button"
                role="tab"
                aria-selected={each === shown}
                onClick={() => {
                  setTab(each);
                  replaceQuery("tab", each);
                }}
              >
                {each === "yaml" ? "YAML" : each}
              </button>
            ))}
          </div>
          <Tab tab={shown} resource={resource} object={object} />
        </>
      )}
    </>
  );
}

function tabsFor({ group, plural, verbs }: Resource): readonly string[] {
  const isPod = group === "" && plural === "pods";
  const edit = verbs.includes("update") ? ["edit"] : [];
  const isNode = group === "" && plural === "nodes";
  return [
    ...["summary", "yaml", ...edit, "events", "related"],
    ...(isPod ? ["logs"] : []),
    ...(isPod || isNode ? ["usage"] : []),
    ...(revisionSource({ group, plural }) === undefined ? [] : ["history"]),
  ];
}

function Tab(props: {
  readonly tab: string;
  readonly resource: Resource;
  readonly object: KubeObject;
}) {
  const { tab, resource, object } = props;
  switch (tab) {
    case "yaml":
      return <YamlView object={object} />;
    case "edit":
      return (
        <Lazy
          load={async () => (await import("./edit-view.tsx")).EditView}
          props={{ resource, object }}
        />
      );
    case "events":
      return <EventsOf object={object} />;
    case "related":
      return <RelatedView resource={resource} object={object} />;
    case "logs":
      return <LogsView pod={object as PodObject} />;
    case "usage":
      return (
        <Lazy load={async () => (await import("./usage-view.tsx")).UsageView} props={{ object }} />
      );
    case "history":
      return <HistoryView resource={resource} object={object} />;
    default:
      return <ObjectSummary resource={resource} object={object} />;
  }
}
