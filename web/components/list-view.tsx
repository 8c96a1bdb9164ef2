/**
 * One kind as a table with the server's own columns, live. Only the rows in view are here: the
 * dashboard's server filters, orders and cuts the window.
 */
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Followed, TableView } from "../../src/dashboard/live/messages.ts";
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { ageOf } from "../models/age.ts";
import { collectionPath, objectLink, type Resource } from "../models/resources.ts";
import { type ShownColumn, shownColumns } from "../models/shown-columns.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useTable } from "../state/use-live.ts";
import { type Place, replaceQuery } from "../state/use-location.ts";
import { useNow } from "../state/use-now.ts";
import { Link } from "./link.tsx";
import { Problem } from "./problem.tsx";

const ROW_PX = 32;
const WINDOW_ROWS = 120;
const MARGIN_ROWS = 40;

export function ListView({
  resource,
  place,
}: {
  readonly resource: Resource;
  readonly place: Place;
}) {
  const namespace = resource.isNamespaced ? (place.query.get("namespace") ?? "") : "";
  const [filter, setFilter] = useState(place.query.get("filter") ?? "");
  const [labels, setLabels] = useState(place.query.get("labels") ?? "");
  const [fields, setFields] = useState(place.query.get("fields") ?? "");
  const [isWide, setWide] = useState(false);
  const [order, setOrder] = useState<TableView["order"]>(undefined);
  const [offset, setOffset] = useState(0);
  const followed: Followed = {
    path: collectionPath(resource, namespace),
    ...(labels === "" ? {} : { labelSelector: labels }),
    ...(fields === "" ? {} : { fieldSelector: fields }),
  };
  const { table, error } = useTable(followed, { filter, order, offset, limit: WINDOW_ROWS });
  const columns = shownColumns(table?.columns ?? [], {
    isWide,
    withNamespace: resource.isNamespaced && namespace === "",
  });
  const input = useFilterKey();
  return (
    <>
      <div class="tools">
        <h1>{resource.kind}</h1>
        <input
          ref={input}
          type="search"
          aria-label="Filter"
          placeholder="Filter ( / )"
          value={filter}
          onInput={({ currentTarget: { value } }) => {
            setFilter(value);
            setOffset(0);
            replaceQuery("filter", value);
          }}
        />
        <Selector name="labels" label="Label selector" value={labels} change={setLabels} />
        <Selector name="fields" label="Field selector" value={fields} change={setFields} />
        <label>
          <input type="checkbox" checked={isWide} onChange={() => setWide(!isWide)} /> wide
        </label>
        <span role="status">
          {table === undefined
            ? "Loading…"
            : `${table.matched.toLocaleString("en")} of ${table.total.toLocaleString("en")}`}
          {table?.isTruncated && " (more are not shown)"}
          {table?.isComplete === false && ", still loading"}
        </span>
      </div>
      <Problem text={error} />
      {table !== undefined && table.total === 0 && (
        <p class="notice">
          There are no {resource.plural}
          {namespace !== "" && ` in the namespace ${namespace}`}. They appear here when they are
          created.
        </p>
      )}
      {table !== undefined && table.total > 0 && (
        <Grid
          resource={resource}
          columns={columns}
          rows={table.rows}
          offset={table.offset}
          count={table.matched}
          order={order}
          setOrder={setOrder}
          look={(first) => {
            const isInside =
              first >= table.offset && first + MARGIN_ROWS <= table.offset + table.rows.length;
            if (!isInside) setOffset(Math.max(0, first - MARGIN_ROWS));
          }}
        />
      )}
    </>
  );
}

function Selector(props: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  change(value: string): void;
}) {
  return (
    <input
      type="text"
      class="selector"
      aria-label={props.label}
      placeholder={props.label}
      value={props.value}
      onChange={({ currentTarget: { value } }) => {
        props.change(value);
        replaceQuery(props.name, value);
      }}
    />
  );
}

interface GridProps {
  readonly resource: Resource;
  readonly columns: readonly ShownColumn[];
  readonly rows: readonly Row[];
  readonly offset: number;
  readonly count: number;
  readonly order: TableView["order"];
  setOrder(order: TableView["order"]): void;
  look(firstRow: number): void;
}

function Grid({ resource, columns, rows, offset, count, order, setOrder, look }: GridProps) {
  const { go } = useContext(DashboardContext);
  const nowMs = useNow();
  const press = (column: ShownColumn): void => {
    if (column.by === "namespace") return;
    const isSame = order?.by === column.by;
    if (isSame && order?.descending) setOrder(undefined);
    else setOrder({ by: column.by, descending: isSame });
  };
  return (
    <section
      class="grid"
      aria-label={`Objects of kind ${resource.kind}`}
      onScroll={({ currentTarget }) => look(Math.floor(currentTarget.scrollTop / ROW_PX))}
    >
      <table aria-rowcount={count}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                title={column.description}
                aria-sort={sortOf(order, column)}
                scope="col"
              >
                <button type="button" onClick={() => press(column)}>
                  {column.name}
                  {order?.by === column.by && (order.descending ? " ▼" : " ▲")}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr class="spacer" style={{ height: `${offset * ROW_PX}px` }} />
          {rows.map((row, index) => (
            <tr
              key={row.uid}
              aria-rowindex={offset + index + 1}
              class={row.isDeleting ? "deleting" : ""}
              onDblClick={() => go(objectLink(resource, row.namespace, row.name))}
            >
              {columns.map((column) => (
                <td key={column.name}>
                  <Cell row={row} column={column} resource={resource} nowMs={nowMs} />
                </td>
              ))}
            </tr>
          ))}
          <tr
            class="spacer"
            style={{ height: `${Math.max(0, count - offset - rows.length) * ROW_PX}px` }}
          />
        </tbody>
      </table>
    </section>
  );
}

function Cell(props: {
  readonly row: Row;
  readonly column: ShownColumn;
  readonly resource: Resource;
  readonly nowMs: number;
}) {
  const { row, column, resource, nowMs } = props;
  if (column.by === "namespace") return <>{row.namespace}</>;
  if (column.by === "created")
    return <time dateTime={row.createdAt}>{ageOf(row.createdAt, nowMs)}</time>;
  const value = row.cells[column.by];
  const text = value === null || value === undefined ? "" : String(value);
  if (column.isName)
    return <Link to={objectLink(resource, row.namespace, row.name)}>{text || row.name}</Link>;
  if (column.isState) return <span class={`state ${stateClass(text)}`}>{text}</span>;
  return <>{text}</>;
}

/** Only known words become names of classes. */
function stateClass(text: string): string {
  if (/^(Running|Ready|Active|Bound|True|Complete|Completed|Available)$/.test(text))
    return "running";
  if (/(Error|Failed|BackOff|NotReady|Evicted|Lost|OOMKilled)/.test(text)) return "failed";
  return /(Pending|Creating|Terminating|Init|Waiting|Disabled)/.test(text) ? "pending" : "";
}

function sortOf(order: TableView["order"], column: ShownColumn) {
  if (order === undefined || order.by !== column.by) return "none";
  return order.descending ? "descending" : "ascending";
}

/** `/` goes to the filter. */
function useFilterKey() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (
        event.key !== "/" ||
        (event.target instanceof HTMLElement && event.target.matches("input, textarea"))
      )
        return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return input;
}
