/** The frame around every view: navigation, the namespace, the command palette, the theme. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { findResource, type Resource, tableLink } from "../models/resources.ts";
import { type Route, routeOf } from "../models/route.ts";
import { terminalModeOf } from "../models/terminal-target.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { Live } from "../state/live.ts";
import { logout } from "../state/session.ts";
import { toggleTheme } from "../state/theme.ts";
import { type Place, useLocation } from "../state/use-location.ts";
import { Lazy } from "./lazy.tsx";
import { Link } from "./link.tsx";
import { ListView } from "./list-view.tsx";
import { NamespaceChoice } from "./namespace-choice.tsx";
import { Overview } from "./overview.tsx";
import { Palette } from "./palette.tsx";

/** The kinds that most people look for; all others are in the palette and under "All kinds". */
const SHORTCUTS: readonly (readonly [group: string, plural: string])[] = [
  ["", "pods"],
  ["apps", "deployments"],
  ["apps", "statefulsets"],
  ["apps", "daemonsets"],
  ["batch", "jobs"],
  ["batch", "cronjobs"],
  ["", "services"],
  ["networking.k8s.io", "ingresses"],
  ["", "configmaps"],
  ["", "secrets"],
  ["", "persistentvolumeclaims"],
  ["", "nodes"],
  ["", "namespaces"],
  ["", "events"],
];

/** `resources` are undefined while discovery is loaded. */
export function App({ resources }: { readonly resources: readonly Resource[] | undefined }) {
  const { place, go } = useLocation();
  const live = useMemo(() => new Live(), []);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const context = useMemo(() => ({ live, resources: resources ?? [], go }), [live, resources, go]);
  const route = routeOf(place.pathname);
  const namespace = place.query.get("namespace") ?? "";
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      // The target itself may be hidden in a shadow root: the YAML editor has one.
      const [target] = event.composedPath();
      const isTyping = target instanceof HTMLElement && target.matches(TYPING);
      const isShortcut = (event.ctrlKey || event.metaKey) && event.key === "k";
      if (!isShortcut && (event.key !== ":" || isTyping)) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <DashboardContext.Provider value={context}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <Link to="/" class="brand">
          k8ts
        </Link>
        <NamespaceChoice namespace={namespace} place={place} />
        <button type="button" class="search" onClick={() => setPaletteOpen(true)}>
          Go to… <kbd>:</kbd>
        </button>
        <button type="button" onClick={toggleTheme} aria-label="Switch between dark and light">
          ◐
        </button>
        <button type="button" onClick={() => void logout()}>
          Sign out
        </button>
      </header>
      <div class="frame">
        <Navigation resources={context.resources} route={route} namespace={namespace} />
        <main id="content" tabIndex={-1}>
          {resources === undefined && route.view !== "overview" ? (
            <p class="loading">Loading…</p>
          ) : (
            <View route={route} place={place} resources={context.resources} />
          )}
        </main>
      </div>
      {isPaletteOpen && <Palette namespace={namespace} close={() => setPaletteOpen(false)} />}
    </DashboardContext.Provider>
  );
}

const TYPING = "input, textarea, select, [contenteditable]";

function Navigation(props: {
  readonly resources: readonly Resource[];
  readonly route: Route;
  readonly namespace: string;
}) {
  const { resources, route, namespace } = props;
  const shortcuts = SHORTCUTS.flatMap(
    ([group, plural]) => findResource(resources, group, plural) ?? [],
  );
  const others = resources.filter((each) => !shortcuts.includes(each));
  const kind = (resource: Resource) => (
    <li key={`${resource.group}/${resource.plural}`}>
      <Link
        to={tableLink(resource, resource.isNamespaced ? namespace : "")}
        isCurrent={
          "plural" in route && route.plural === resource.plural && route.group === resource.group
        }
      >
        {resource.kind}
      </Link>
    </li>
  );
  const query = namespace === "" ? "" : `?namespace=${encodeURIComponent(namespace)}`;
  return (
    <nav aria-label="Views">
      <ul>
        <li>
          <Link to="/" isCurrent={route.view === "overview"}>
            Overview
          </Link>
        </li>
        <li>
          <Link to={`/graph${query}`} isCurrent={route.view === "graph"}>
            Graph
          </Link>
        </li>
        {shortcuts.map(kind)}
      </ul>
      <details>
        <summary>All kinds</summary>
        <ul>{others.map(kind)}</ul>
      </details>
    </nav>
  );
}

function View(props: {
  readonly route: Route;
  readonly place: Place;
  readonly resources: readonly Resource[];
}) {
  const { route, place, resources } = props;
  switch (route.view) {
    case "overview":
      return <Overview />;
    case "graph":
      return (
        <Lazy
          load={async () => (await import("./graph-view.tsx")).GraphView}
          props={{ namespace: place.query.get("namespace") ?? "default" }}
        />
      );
    case "terminal":
      return (
        <Lazy
          load={async () => (await import("./terminal-view.tsx")).TerminalView}
          props={{
            ...route,
            container: place.query.get("container") ?? "",
            mode: terminalModeOf(place.query.get("mode")),
          }}
        />
      );
    case "list":
    case "object": {
      const resource = findResource(resources, route.group, route.plural);
      if (resource === undefined) return <p class="notice">The cluster has no such kind.</p>;
      if (route.view === "list")
        return <ListView key={place.pathname} resource={resource} place={place} />;
      const { namespace, name } = route;
      const tab = place.query.get("tab") ?? "summary";
      return (
        <Lazy
          key={place.pathname}
          load={async () => (await import("./object-view.tsx")).ObjectView}
          props={{ resource, namespace, name, tab }}
        />
      );
    }
    case "unknown":
      return <p class="notice">There is no such view.</p>;
  }
}
