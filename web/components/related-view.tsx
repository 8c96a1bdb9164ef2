/** What belongs to an object: the tables of its collections, live, and the objects that its fields name. */
import { useContext, useMemo, useState } from "preact/hooks";
import type { TableView } from "../../src/dashboard/live/messages.ts";
import type { KubeObject } from "../models/kube-object.ts";
import {
  type RelatedCollection,
  referencesOf,
  relatedCollections,
} from "../models/related-objects.ts";
import { collectionPath, findResource, objectLink, type Resource } from "../models/resources.ts";
import { shownColumns } from "../models/shown-columns.ts";
import { windowFor } from "../models/window-for.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useTable } from "../state/use-live.ts";
import { Link } from "./link.tsx";
import { ObjectTable } from "./object-table.tsx";
import { Problem } from "./problem.tsx";

const WINDOW_ROWS = 100;

export function RelatedView(props: { readonly resource: Resource; readonly object: KubeObject }) {
  const { resources } = useContext(DashboardContext);
  const { object } = props;
  const collections = relatedCollections(props.resource, object);
  const references = referencesOf(object);
  return (
    <>
      {collections.map((collection) => {
        const resource = findResource(resources, collection.group, collection.plural);
        return (
          resource !== undefined && (
            <Collection
              key={collection.title}
              {...{ collection, resource }}
              namespace={object.metadata.namespace ?? ""}
            />
          )
        );
      })}
      {references.length > 0 && (
        <section aria-label="Named objects">
          <h2>Named in its fields</h2>
          <ul>
            {references.map(({ group, kind, namespace, name }) => {
              const resource = resources.find((each) => each.group === group && each.kind === kind);
              return (
                <li key={`${kind} ${name}`}>
                  {resource === undefined ? (
                    `${kind} ${name}`
                  ) : (
                    <Link to={objectLink(resource, namespace, name)}>
                      {kind} {name}
                    </Link>
                  )}
                </li>
              );
            })}
          </ul>
        </section>
      )}
      {collections.length === 0 && references.length === 0 && (
        <p>Nothing is known to belong to objects of this kind. Owners are in the summary.</p>
      )}
    </>
  );
}

function Collection(props: {
  readonly collection: RelatedCollection;
  readonly resource: Resource;
  readonly namespace: string;
}) {
  const { resource, namespace, collection } = props;
  const { title, group: _group, plural: _plural, ...selection } = collection;
  const [order, setOrder] = useState<TableView["order"]>(undefined);
  const [offset, setOffset] = useState(0);
  const followed = { path: collectionPath(resource, namespace), ...selection };
  const { table, error } = useTable(followed, { filter: "", order, offset, limit: WINDOW_ROWS });
  const columnsKey = JSON.stringify(table?.columns);
  const columns = useMemo(
    () => shownColumns(table?.columns ?? [], { isWide: false, withNamespace: namespace === "" }),
    [columnsKey, namespace],
  );
  return (
    <section class="related" aria-label={title}>
      <h2>
        {title} {table !== undefined && `(${table.matched.toLocaleString("en")})`}
      </h2>
      <Problem text={error} />
      {table !== undefined && table.matched === 0 && <p>none</p>}
      {table !== undefined && table.matched > 0 && (
        <ObjectTable
          {...{ resource, columns, rows: table.rows, offset: table.offset, count: table.matched }}
          {...{ order, setOrder }}
          look={(first, end) => {
            const asked = windowFor({ first, end, offset, limit: WINDOW_ROWS });
            if (asked !== offset) setOffset(asked);
          }}
        />
      )}
    </section>
  );
}
