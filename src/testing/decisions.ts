/** A decision as text, so that a test row can state the expected outcome in one line. */
import type { KindOf, KubeObject } from "#api/kind.ts";
import type { Outcome } from "#runtime/controller.ts";
import type { Write } from "#runtime/writes.ts";

export interface OutcomeText {
  /** `create Pod web-`, `3 × delete Pod a`, `update Job work/status`; in order. */
  readonly writes: readonly string[];
  /** `Normal Reason: text`. */
  readonly events?: readonly string[];
  readonly recheckInMs?: number;
}

export function describeOutcome({
  writes = [],
  events = [],
  recheckInMs,
}: Outcome<unknown>): OutcomeText {
  return {
    writes: counted(writes.flat().map(lineOf)),
    ...(events.length === 0
      ? {}
      : { events: events.map(({ type, reason, message }) => `${type} ${reason}: ${message}`) }),
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  };
}

/** The last object of a kind that a decision writes whole. */
export function written<T extends KubeObject>(
  { writes = [] }: Outcome<unknown>,
  kind: KindOf<T>,
): T | undefined {
  const all = (writes.flat() as readonly Write[]).filter(
    (write) => write.kind.names.kind === kind.names.kind && "object" in write,
  );
  const last = all.at(-1);
  return last !== undefined && "object" in last ? (last.object as T) : undefined;
}

/** Of a value, the part that has the shape of another: for tests that care for some fields. */
export function partLike(value: unknown, like: unknown): unknown {
  if (Array.isArray(like)) {
    return like.map((item, i) => partLike((value as readonly unknown[] | undefined)?.[i], item));
  }
  if (typeof like !== "object" || like === null) return value;
  const fields = value as Readonly<Record<string, unknown>> | undefined;
  return Object.fromEntries(
    Object.entries(like).map(([name, wanted]) => [name, partLike(fields?.[name], wanted)]),
  );
}

function lineOf(write: Write): string {
  const { kind } = write.kind.names;
  switch (write.op) {
    case "create":
      return `create ${kind} ${write.object.metadata.name ?? write.object.metadata.generateName}`;
    case "update":
      return `update ${kind} ${write.object.metadata.name}${sub(write.subresource)}`;
    case "patch":
      return `patch ${kind} ${write.target.name}${sub(write.subresource)}`;
    case "delete":
      return `delete ${kind} ${write.target.name}`;
    case "deleteAll":
      return `delete all ${write.kind.names.plural}`;
  }
}

function sub(subresource: string | undefined): string {
  return subresource === undefined ? "" : `/${subresource}`;
}

function counted(lines: readonly string[]): readonly string[] {
  const runs: { line: string; count: number }[] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.line === line) last.count += 1;
    else runs.push({ line, count: 1 });
  }
  return runs.map(({ line, count }) => (count === 1 ? line : `${count} × ${line}`));
}
