/**
 * A table of objects of which only the rows in view have elements. When the user scrolls, elements of rows
 * that left the view get the content of rows that entered it, and widths of columns are set: a frame costs
 * the same however long the table is.
 */
import { useContext, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TableView } from "../../src/dashboard/live/messages.ts";
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { cellText } from "../models/cell-text.ts";
import { type ColumnWidths, widened } from "../models/column-widths.ts";
import { renderedRows } from "../models/rendered-rows.ts";
import { objectLink, type Resource } from "../models/resources.ts";
import type { ShownColumn } from "../models/shown-columns.ts";
import { DashboardContext } from "../state/dashboard-context.ts";
import { useNow } from "../state/use-now.ts";
import { focusRow } from "./focus-row.ts";
import { Link } from "./link.tsx";

const ROW_PX = 32;
/** More than are ever in view: a row's element is reused for the row this many places further. */
const ELEMENTS_MAX = 200;

interface ObjectTableProps {
  readonly resource: Resource;
  readonly columns: readonly ShownColumn[];
  /** The rows that are known, from `offset` on. */
  readonly rows: readonly Row[];
  readonly offset: number;
  readonly count: number;
  readonly order: TableView["order"];
  setOrder(order: TableView["order"]): void;
  /** Called with the rows that are in view. */
  look(first: number, end: number): void;
}

export function ObjectTable(props: ObjectTableProps) {
  const { resource, columns, rows, offset, count, order, setOrder, look } = props;
  const nowMs = useNow();
  const scroller = useRef<HTMLElement>(null);
  const [view, setView] = useState({ scrollPx: 0, heightPx: 0 });
  const range = renderedRows({ ...view, rowPx: ROW_PX, count });
  const widths = useWidths(columns, rows, nowMs);
  const seen = (): void => {
    const { scrollTop: scrollPx, clientHeight: heightPx } = scroller.current!;
    const next = renderedRows({ scrollPx, heightPx, rowPx: ROW_PX, count });
    if (next.first === range.first && next.end === range.end) return;
    setView({ scrollPx, heightPx });
    look(next.first, next.end);
  };
  useLayoutEffect(seen);
  const first = Math.max(range.first, offset);
  const shown = rows.slice(first - offset, Math.max(0, range.end - offset));
  const press = (column: ShownColumn): void => {
    if (column.by === "namespace") return;
    const isSame = order?.by === column.by;
    if (isSame && order?.descending) setOrder(undefined);
    else setOrder({ by: column.by, descending: isSame });
  };
  return (
    <section
      ref={scroller}
      class="grid"
      aria-label={`Objects of kind ${resource.kind}`}
      onScroll={seen}
      onKeyDown={(event) => {
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : undefined;
        if (step !== undefined && focusRow(scroller.current, step)) event.preventDefault();
      }}
    >
      <table aria-rowcount={count}>
        <colgroup>
          {columns.map(({ name }) => (
            <col key={name} style={{ width: `${widths.get(name)}ch` }} />
          ))}
        </colgroup>
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
          <tr class="spacer" style={{ height: `${first * ROW_PX}px` }} />
          {shown.map((row, index) => (
            <ObjectRow
              key={(first + index) % ELEMENTS_MAX}
              {...{ row, index: first + index, columns, resource, nowMs }}
            />
          ))}
          <tr
            class="spacer"
            style={{ height: `${Math.max(0, count - first - shown.length) * ROW_PX}px` }}
          />
        </tbody>
      </table>
    </section>
  );
}

/** The widths that the rows seen so far need; those of another kind begin anew with its columns. */
function useWidths(
  columns: readonly ShownColumn[],
  rows: readonly Row[],
  nowMs: number,
): ColumnWidths {
  const widths = useRef<ColumnWidths>(new Map());
  return useMemo(() => {
    widths.current = widened(widths.current, columns, rows, nowMs);
    return widths.current;
  }, [columns, rows]);
}

function ObjectRow(props: {
  readonly row: Row;
  readonly index: number;
  readonly columns: readonly ShownColumn[];
  readonly resource: Resource;
  readonly nowMs: number;
}) {
  const { row, index, columns, resource, nowMs } = props;
  const { go } = useContext(DashboardContext);
  return useMemo(() => {
    const link = objectLink(resource, row.namespace, row.name);
    return (
      <tr
        aria-rowindex={index + 1}
        class={row.isDeleting ? "deleting" : ""}
        onDblClick={() => go(link)}
      >
        {columns.map((column) => (
          <td key={column.name}>
            <Cell row={row} column={column} link={link} text={cellText(row, column, nowMs)} />
          </td>
        ))}
      </tr>
    );
  }, [row, index, columns, resource, nowMs, go]);
}

function Cell(props: {
  readonly row: Row;
  readonly column: ShownColumn;
  readonly link: string;
  readonly text: string;
}) {
  const { row, column, link, text } = props;
  if (column.by === "created") return <time dateTime={row.createdAt}>{text}</time>;
  if (column.isName) return <Link to={link}>{text}</Link>;
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
