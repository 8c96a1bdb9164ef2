/** Leader election as the configuration and the flags say it: defaults and checks in upstream's words. */
import { formatDuration, parseDuration } from "#api/meta/duration.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import { ConfigError } from "./config-error.ts";
import type { Json } from "./json-values.ts";

/** Durations are Go's, such as 15s. */
export interface LeaderElectionFields {
  readonly leaderElect: boolean;
  readonly leaseDuration: string;
  readonly renewDeadline: string;
  readonly retryPeriod: string;
  readonly resourceLock: string;
  readonly resourceName: string;
  readonly resourceNamespace: string;
}

const DEFAULTS: LeaderElectionFields = {
  leaderElect: true,
  leaseDuration: "15s",
  renewDeadline: "10s",
  retryPeriod: "2s",
  resourceLock: "leases",
  resourceName: "kube-scheduler",
  resourceNamespace: "kube-system",
};

/** What the file says; flags that were given come first. */
export function leaderElectionFrom(
  file: Json,
  flags: Partial<LeaderElectionFields>,
): LeaderElectionFields {
  const given = Object.entries(file).filter(([, value]) => !isUnset(value));
  const { leaderElect = true, ...texts } = Object.fromEntries(given);
  return {
    ...DEFAULTS,
    ...Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, String(value)])),
    leaderElect: leaderElect !== false,
    ...flags,
  };
}

/** Empty texts and durations of zero get the defaults, too. */
function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (typeof value !== "string") return false;
  const parsed = parseDuration(value);
  return parsed.ok && parsed.nanos === 0n;
}

/** What upstream says when it makes the elector, after all other checks. */
export function checkElectionTimes(fields: LeaderElectionFields): void {
  if (!fields.leaderElect) return;
  const [deadline, period] = [nanosOf(fields.renewDeadline), nanosOf(fields.retryPeriod)];
  // The period is stretched by a random share of up to a fifth.
  if (deadline * 10n > period * 12n) return;
  throw new ConfigError(
    "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor",
  );
}

export function checkLeaderElection(fields: LeaderElectionFields): readonly FieldError[] {
  if (!fields.leaderElect) return [];
  const path = Path.of("leaderElection");
  const errors: FieldError[] = [];
  for (const name of ["leaseDuration", "renewDeadline", "retryPeriod"] as const) {
    const nanos = nanosOf(fields[name]);
    if (nanos > 0n) continue;
    errors.push(invalid(path.child(name), formatDuration(nanos), "must be greater than zero"));
  }
  const deadline = nanosOf(fields.renewDeadline);
  if (nanosOf(fields.leaseDuration) <= deadline) {
    const text = "must be greater than `RenewDeadline`";
    errors.push(invalid(path.child("leaseDuration"), formatDuration(deadline), text));
  }
  for (const name of ["resourceLock", "resourceNamespace", "resourceName"] as const) {
    if (fields[name] === "") errors.push(required(path.child(name), ""));
  }
  if (fields.resourceLock !== "leases") {
    const text = 'resourceLock value must be "leases"';
    errors.push(invalid(path.child("resourceLock"), fields.resourceLock, text));
  }
  return errors;
}

/** In milliseconds. */
export function electionTimes(fields: LeaderElectionFields) {
  const ms = (text: string): number => Number(nanosOf(text) / 1_000_000n);
  return {
    leaseDurationMs: ms(fields.leaseDuration),
    renewDeadlineMs: ms(fields.renewDeadline),
    retryPeriodMs: ms(fields.retryPeriod),
  };
}

function nanosOf(text: string): bigint {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new ConfigError(parsed.error);
  return parsed.nanos;
}
