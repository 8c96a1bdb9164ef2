/** /statusz and /flagz: what runs here and how it was started, for people who look for a fault. */

import type { PathHandler } from "../request/handler.ts";
import { textAnswer } from "../response/answer.ts";
import { API_VERSION, PLAIN_VERSION } from "./version-path.ts";

const WARNING =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

export interface ZPageOptions {
  readonly component: string;
  /** The debugging endpoints of the component. */
  readonly paths: readonly string[];
  readonly startMs: number;
  nowMs(): number;
  /** Names and values. */
  readonly flags: Readonly<Record<string, string>>;
}

export function zPages(options: ZPageOptions): PathHandler {
  return ({ path }) => {
    const text = zPageText(path, options);
    return text === undefined ? undefined : textAnswer(200, text);
  };
}

/** Undefined for other paths. */
export function zPageText(path: string, options: ZPageOptions): string | undefined {
  const { component, paths, startMs, nowMs, flags } = options;
  const page = (name: string, lines: readonly string[]): string =>
    `\n${component} ${name}\n${WARNING}\n${lines.join("\n")}\n`;
  if (path === "/flagz") {
    const lines = Object.entries(flags).map(([name, value]) => `${name}=${value}`);
    return page("flagz", lines.sort());
  }
  if (path !== "/statusz") return undefined;
  return page("statusz", [
    "",
    `Started: ${new Date(startMs).toUTCString()}`,
    `Up: ${upTime(nowMs() - startMs)}`,
    `Node version: ${process.version}`,
    `Binary version: ${PLAIN_VERSION}`,
    `Emulation version: ${API_VERSION}`,
    `Paths: ${paths.join(" ")}`,
  ]);
}

function upTime(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (n: number): string => String(n).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)} hr ${two(minutes % 60)} min ${two(seconds % 60)} sec`;
}
