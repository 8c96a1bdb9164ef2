/** The namespace that lists are about. */
import { useContext } from "preact/hooks";
import type { KubeObject } from "../models/kube-object.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useObjects } from "../state/use-live.ts";
import type { Place } from "../state/use-location.ts";

export function NamespaceChoice(props: { readonly namespace: string; readonly place: Place }) {
  const { namespace, place } = props;
  const { go } = useContext(DashboardContext);
  const { objects } = useObjects<KubeObject>({ path: "/api/v1/namespaces" });
  const names = objects.map(({ metadata }) => metadata.name);
  const all = [...new Set([...names, ...(namespace === "" ? [] : [namespace])])].toSorted();
  const choose = (chosen: string): void => {
    const query = new URLSearchParams(place.query);
    if (chosen === "") query.delete("namespace");
    else query.set("namespace", chosen);
    // An object belongs to its namespace: the choice leads to the list of its kind.
    const pathname = place.pathname.replace(/^\/object\/([^/]+)\/([^/]+)\/.*/, "/list/$1/$2");
    go(`${pathname}?${query}`);
  };
  return (
    <select
      aria-label="Namespace"
      value={namespace}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      <option value="">All namespaces</option>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
