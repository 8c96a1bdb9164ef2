/** Hooks that follow tables and objects while a component is shown. */
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type {
  Followed,
  LiveMessage,
  LiveObject,
  OverviewMessage,
  TableView,
} from "../../src/dashboard/live/messages.ts";
import type { Warning } from "../../src/dashboard/overview/newest-warnings.ts";
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { wholeRows } from "../models/whole-rows.ts";
import { DashboardContext } from "./dashboard-context.ts";

type TableMessage = Extract<LiveMessage, { type: "table" }>;

export interface LiveTable {
  readonly table: (Omit<TableMessage, "rows"> & { readonly rows: readonly Row[] }) | undefined;
  readonly error: string | undefined;
}

export function useTable(followed: Followed, view: TableView): LiveTable {
  const { live } = useContext(DashboardContext);
  const [state, setState] = useState<LiveTable>({ table: undefined, error: undefined });
  const handle = useRef<ReturnType<typeof live.table> | undefined>(undefined);
  const key = JSON.stringify(followed);
  useEffect(() => {
    setState({ table: undefined, error: undefined });
    let rows: readonly Row[] = [];
    const opened = live.table(followed, view, (message) => {
      if (message.type === "table") {
        rows = wholeRows(message.rows, rows);
        setState({ table: { ...message, rows }, error: undefined });
      }
      if (message.type === "error") setState(({ table }) => ({ table, error: message.message }));
    });
    handle.current = opened;
    return () => opened.close();
  }, [live, key]);
  const viewKey = JSON.stringify(view);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else handle.current?.look(view);
  }, [viewKey]);
  return state;
}

export interface LiveOverview {
  readonly overview: OverviewMessage | undefined;
  readonly warnings: readonly Warning[] | undefined;
  readonly error: string | undefined;
}

export function useOverview(): LiveOverview {
  const { live } = useContext(DashboardContext);
  const [state, setState] = useState<LiveOverview>({
    overview: undefined,
    warnings: undefined,
    error: undefined,
  });
  useEffect(() => {
    const opened = live.overview((message) => {
      if (message.type === "error") setState((now) => ({ ...now, error: message.message }));
      if (message.type === "overview")
        setState(({ warnings }) => ({
          overview: message,
          warnings: message.warnings ?? warnings,
          error: undefined,
        }));
    });
    return () => opened.close();
  }, [live]);
  return state;
}

export interface LiveObjects<T> {
  readonly objects: readonly T[];
  readonly isReady: boolean;
  readonly isTruncated: boolean;
  readonly error: string | undefined;
}

/** Undefined follows nothing. */
export function useObjects<T extends LiveObject>(followed: Followed | undefined): LiveObjects<T> {
  const { live } = useContext(DashboardContext);
  const [state, setState] = useState<LiveObjects<T>>(NOTHING);
  const key = JSON.stringify(followed);
  useEffect(() => {
    setState(NOTHING);
    if (followed === undefined) return;
    const known = new Map<string, T>();
    const opened = live.objects(followed, (message) => {
      if (message.type === "error") setState((now) => ({ ...now, error: message.message }));
      if (message.type !== "objects") return;
      if (message.reset) known.clear();
      for (const uid of message.deletedUids) known.delete(uid);
      for (const object of message.changed) known.set(uidOf(object), object as T);
      const { isTruncated } = message;
      setState({ objects: [...known.values()], isReady: true, isTruncated, error: undefined });
    });
    return () => opened.close();
  }, [live, key]);
  return state;
}

const NOTHING = { objects: [], isReady: false, isTruncated: false, error: undefined };

function uidOf({ metadata }: LiveObject): string {
  return metadata.uid ?? `${metadata.namespace ?? ""}/${metadata.name}`;
}
