/** What the rules of kinds may know about a request beside its object. */

import { expressionCompiler } from "#api/expressions/compiler.ts";
import type { RuleContext } from "#api/kind.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { userInfo } from "../authn/reviews.ts";
import type { VerbRequest } from "../request/verb.ts";
import { keyOf } from "../storage/resources.ts";
import { signatures } from "./signatures.ts";

export function ruleContextOf({ parts, info, user }: VerbRequest): RuleContext {
  return {
    nowMs: parts.clock.nowMs(),
    requestName: info.name,
    allowPrivileged: parts.allowPrivileged,
    features: parts.features,
    user: userInfo(user),
    signatures,
    expressions: expressionCompiler,
    namespaceLabels: () => {
      const stored = parts.resources.storedOf(namespaceKind);
      const namespace = parts.objects.cacheOf(stored).get(keyOf(stored, "", info.namespace));
      return namespace === undefined ? undefined : (namespace.value.metadata.labels ?? {});
    },
  };
}
