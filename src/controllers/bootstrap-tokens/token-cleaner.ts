/** Deletes bootstrap tokens that have expired. */

import type { Secret } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { defineController, idle, type Outcome, ownKey, recheckIn } from "#runtime/controller.ts";
import { remove } from "#runtime/writes.ts";
import { expiryMs, isTokenSecret } from "./token-secret.ts";

export const tokenCleaner = defineController<Secret | undefined>({
  name: "token-cleaner-controller",
  rule: "an expired bootstrap token is deleted",
  feeds: [
    {
      kind: secretKind,
      keys: (secret: Secret) => (isTokenSecret(secret) ? ownKey(secret) : []),
    },
  ],
  observe: (caches, { namespace, name }) => caches(secretKind).get(namespace, name),
  decide,
});

function decide(secret: Secret | undefined, nowMs: number): Outcome {
  if (secret === undefined || !isTokenSecret(secret)) return idle;
  const dueMs = expiryMs(secret);
  if (dueMs === Number.POSITIVE_INFINITY) return idle;
  return nowMs < dueMs ? recheckIn(dueMs - nowMs) : { writes: [remove(secretKind, secret)] };
}
