/** What the server itself does to metadata on writes, the same for every kind. */
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Random } from "#lib/random.ts";

type Meta = Draft<ObjectMeta>;

/** What clients may not decide on a new object. */
export function wipeSystemFields(meta: Meta): void {
  delete meta.creationTimestamp;
  delete meta.uid;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.selfLink;
}

export function fillSystemFields(meta: Meta, nowMs: number, random: Random): void {
  meta.creationTimestamp = timeFromMs(nowMs);
  meta.uid = random.uuid();
}

/** The namespace comes from the path; a body that names another one is refused. */
export function settleNamespace(meta: Meta, requested: string): Result<undefined> {
  const said = meta.namespace ?? "";
  if (said === requested) return success(undefined);
  if (said !== "" && requested !== "") {
    return failure(
      badRequestStatus(
        "the namespace of the provided object does not match the namespace sent on the request",
      ),
    );
  }
  if (requested === "") delete meta.namespace;
  else meta.namespace = requested;
  return success(undefined);
}

const NAME_LENGTH_MAX = 63;
const TAIL_LENGTH = 5;
/** No vowels and no digits that look like letters: no words by accident. */
const TAIL_LETTERS = "bcdfghjklmnpqrstvwxz2456789";

export function generatedName(prefix: string, random: Random): string {
  let name = prefix.slice(0, NAME_LENGTH_MAX - TAIL_LENGTH);
  for (let count = 0; count < TAIL_LENGTH; count++) {
    name += TAIL_LETTERS[random.integer(TAIL_LETTERS.length)];
  }
  return name;
}

/** The same owner twice is one owner. */
export function dedupeOwners(
  meta: Meta,
  warn: (text: string) => void,
  afterAdmission = false,
): void {
  const owners = meta.ownerReferences ?? [];
  if (owners.length < 2) return;
  const kept = new Map(owners.map((owner) => [JSON.stringify(owner), owner]));
  if (kept.size === owners.length) return;
  const texts = owners.map((owner) => JSON.stringify(owner));
  const repeated = owners.filter((_, i) => texts.indexOf(texts[i]!) !== i).map(({ uid }) => uid);
  meta.ownerReferences = [...kept.values()];
  const when = afterAdmission ? " after mutating admission happens" : "";
  warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${[...new Set(repeated)].join(", ")}`,
  );
}

/** Where nothing is stored an object keeps the version that it came with; 0 if it had none. */
export function broughtVersion({ metadata }: Pick<Draft<KubeObject>, "metadata">): number {
  const number = Number(metadata.resourceVersion ?? 0);
  return Number.isSafeInteger(number) ? number : 0;
}
