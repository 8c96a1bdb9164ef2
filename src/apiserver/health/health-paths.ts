/**
 * /healthz, /livez and /readyz, whole and check by check, as upstream words them: `ok`, or one line
 * for each check with `?verbose` or when one fails. `?exclude=NAME` leaves a check out. Why checks
 * fail is logged: at once, and again after LOG_EVERY_MS while the same ones fail.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { PathHandler } from "../request/handler.ts";
import { NO_SNIFFING, textAnswer } from "../response/answer.ts";

export interface HealthCheck {
  readonly name: string;
  /** Why it fails; undefined when it is well. */
  check(): string | undefined | Promise<string | undefined>;
}

/** Called for each check of a request for all checks. */
export type CountCheck = (root: string, name: string, well: boolean) => void;

export interface HealthChecks {
  readonly healthz: readonly HealthCheck[];
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
}

const LOG_EVERY_MS = 30_000;

export interface HealthPathsOptions {
  readonly checks: HealthChecks;
  readonly count: CountCheck;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function healthPaths(options: HealthPathsOptions): PathHandler {
  const answerOf = healthAnswers(options);
  return ({ path, query }) =>
    answerOf(path, query)?.then(({ code, text, isWhole }) => {
      const plain = textAnswer(code, text);
      return isWhole && code === 200 ? { ...plain, headers: NO_SNIFFING } : plain;
    });
}

export interface HealthAnswer {
  readonly code: 200 | 500;
  readonly text: string;
  /** It is about all checks of the path. */
  readonly isWhole: boolean;
}

/** Undefined for paths that are no health check. */
export function healthAnswers(
  options: HealthPathsOptions,
): (path: string, query: URLSearchParams) => Promise<HealthAnswer> | undefined {
  const { checks, count } = options;
  const log = createFailureLog(options);
  return (path, query) => {
    const [, root = "", ...rest] = path.split("/");
    if (!Object.hasOwn(checks, root)) return undefined;
    const all = checks[root as keyof HealthChecks];
    if (rest.length === 0) return answerAll(root, all, query, { count, log });
    const name = rest.join("/");
    const one = all.find((check) => check.name === name);
    return one && answerOne(one);
  };
}

async function answerOne({ check }: HealthCheck): Promise<HealthAnswer> {
  const why = await check();
  if (why === undefined) return { code: 200, text: "ok", isWhole: false };
  return { code: 500, text: `internal server error: ${why}\n`, isWhole: false };
}

async function answerAll(
  root: string,
  checks: readonly HealthCheck[],
  query: URLSearchParams,
  { count, log }: { readonly count: CountCheck; readonly log: LogFailures },
): Promise<HealthAnswer> {
  const excluded = new Set(query.getAll("exclude"));
  const unknown = new Set(excluded);
  const lines: string[] = [];
  const failures: Record<string, string> = {};
  for (const { name, check } of checks) {
    if (excluded.has(name)) {
      unknown.delete(name);
      lines.push(`[+]${name} excluded: ok\n`);
      continue;
    }
    const why = await check();
    if (why !== undefined) failures[name] = why;
    count(root, name, why === undefined);
    // Anyone may ask, so the reason is kept to the log.
    lines.push(why === undefined ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`);
  }
  if (unknown.size > 0) {
    const names = [...unknown].sort().map(goQuote).join(",");
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}\n`);
  }
  log(root, failures);
  if (Object.keys(failures).length > 0) {
    return { code: 500, text: `${lines.join("")}${root} check failed\n`, isWhole: true };
  }
  const text = query.has("verbose") ? `${lines.join("")}${root} check passed\n` : "ok";
  return { code: 200, text, isWhole: true };
}

/** Reasons by the name of the check. */
type LogFailures = (root: string, failures: Readonly<Record<string, string>>) => void;

function createFailureLog({ clock, logger }: HealthPathsOptions): LogFailures {
  const last = new Map<string, { readonly names: string; readonly atMs: number }>();
  return (root, failures) => {
    const names = Object.keys(failures).join(",");
    const before = last.get(root);
    const atMs = clock.elapsedMs();
    if (names === "") {
      if (before !== undefined) logger.info("health checks pass again", { path: `/${root}` });
      last.delete(root);
    } else if (before?.names !== names || atMs - before.atMs >= LOG_EVERY_MS) {
      last.set(root, { names, atMs });
      logger.warn("health check failed", { path: `/${root}`, checks: failures });
    }
  };
}
