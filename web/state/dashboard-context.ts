/** What every component may use: the live connection, the kinds that the cluster has, navigation. */
import { createContext } from "preact";
import type { Resource } from "../models/resources.ts";
import { Live } from "./live.ts";

export interface DashboardState {
  readonly live: Live;
  readonly resources: readonly Resource[];
  go(path: string): void;
}

export const DashboardContext = createContext<DashboardState>({
  live: new Live(),
  resources: [],
  go: () => undefined,
});
