/**
 * What the page and the dashboard say to each other over the WebSocket `/live`. One connection carries
 * every table and object that a page follows: browsers open only six HTTP connections to one host.
 */
import type { Warning } from "../overview/newest-warnings.ts";
import type { OverviewFigures } from "../overview/overview-counts.ts";
import type { Column } from "../table/table-answer.ts";
import type { Row, RowSelection } from "../table/table-rows.ts";

export interface TableView extends RowSelection {
  readonly offset: number;
  readonly limit: number;
}

export interface Followed {
  /** Of the collection: `/api/v1/namespaces/default/pods`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** In a table: only rows of objects with an owner reference to this uid. */
  readonly ownerUid?: string;
}

/** Ids are chosen by the page. */
export type PageMessage =
  | ({ readonly op: "table"; readonly id: number; readonly view: TableView } & Followed)
  | { readonly op: "view"; readonly id: number; readonly view: TableView }
  | ({ readonly op: "objects"; readonly id: number } & Followed)
  | { readonly op: "overview"; readonly id: number }
  | { readonly op: "close"; readonly id: number };

export interface LiveObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: { readonly uid?: string; readonly name: string; readonly namespace?: string };
}

export interface UsedResources {
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

export interface OverviewMessage {
  readonly id: number;
  readonly type: "overview";
  readonly figures: OverviewFigures;
  /** How many nodes the cluster has; as many as `figures` has once all are counted. */
  readonly nodesTotal: number;
  readonly podsCounted: number;
  readonly podsTotal: number;
  /** False while the server still counts nodes or pods. */
  readonly isCounted: boolean;
  /** Of all nodes, if there is a metrics server. */
  readonly used?: UsedResources;
  /** Left out if they are as before. */
  readonly warnings?: readonly Warning[];
}

export type LiveMessage =
  | {
      readonly id: number;
      readonly type: "table";
      readonly columns: readonly Column[];
      /** Those that are still to be listed included. */
      readonly total: number;
      readonly matched: number;
      readonly isTruncated: boolean;
      /** False while the server still lists. */
      readonly isComplete: boolean;
      readonly offset: number;
      /**
       * Of rows that are as in the last message for this id only the uid. Left out if all of them, and the
       * offset, are.
       */
      readonly rows?: readonly (Row | string)[];
    }
  | {
      readonly id: number;
      readonly type: "objects";
      /** Everything that the page knew of this id before is gone. */
      readonly reset: boolean;
      readonly isTruncated: boolean;
      readonly changed: readonly LiveObject[];
      readonly deletedUids: readonly string[];
    }
  | OverviewMessage
  | {
      readonly id: number;
      readonly type: "error";
      readonly code: number;
      readonly message: string;
    };
