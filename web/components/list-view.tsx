/**
 * One kind as a table with the server's own columns, live. Only the rows in view are here: the
 * dashboard's server filters, orders and cuts the window.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Followed, TableView } from "../../src/dashboard/live/messages.ts";
import { orderOf, orderText } from "../models/order-query.ts";
import { collectionPath, type Resource } from "../models/resources.ts";
import { shownColumns } from "../models/shown-columns.ts";
import { windowFor } from "../models/window-for.ts";
import { useTable } from "../state/use-live.ts";
import { type Place, replaceQuery } from "../state/use-location.ts";
import { focusRow } from "./focus-row.ts";
import { ObjectTable } from "./object-table.tsx";
import { Problem } from "./problem.tsx";

/** How many rows the page asks for: many more than are in view, so that scrolling rarely waits. */
const WINDOW_ROWS = 400;

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
  const [isWide, setWide] = useState(place.query.has("wide"));
  const [order, setOrder] = useState<TableView["order"]>(orderOf(place.query.get("order") ?? ""));
  const [offset, setOffset] = useState(0);
  const followed: Followed = {
    path: collectionPath(resource, namespace),
    ...(labels === "" ? {} : { labelSelector: labels }),
    ...(fields === "" ? {} : { fieldSelector: fields }),
  };
  const { table, error } = useTable(followed, { filter, order, offset, limit: WINDOW_ROWS });
  const withNamespace = resource.isNamespaced && namespace === "";
  const columnsKey = JSON.stringify(table?.columns);
  const columns = useMemo(
    () => shownColumns(table?.columns ?? [], { isWide, withNamespace }),
    [columnsKey, isWide, withNamespace],
  );
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
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" && focusRow(document.querySelector("main"), 1))
              event.preventDefault();
          }}
        />
        <Selector name="labels" label="Label selector" value={labels} change={setLabels} />
        <Selector name="fields" label="Field selector" value={fields} change={setFields} />
        <label>
          <input
            type="checkbox"
            checked={isWide}
            onChange={() => {
              setWide(!isWide);
              replaceQuery("wide", isWide ? "" : "1");
            }}
          />{" "}
          wide
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
        <ObjectTable
          key={followed.path}
          {...{ resource, columns, rows: table.rows, offset: table.offset, count: table.matched }}
          order={order}
          setOrder={(next) => {
            setOrder(next);
            replaceQuery("order", orderText(next));
          }}
          look={(first, end) => {
            const asked = windowFor({ first, end, offset, limit: WINDOW_ROWS });
            if (asked !== offset) setOffset(asked);
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
