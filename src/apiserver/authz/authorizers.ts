/** The configured authorizers, which can be replaced while the server runs. */
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import { createAbacAuthorizer } from "./abac.ts";
import type { AbacPolicy } from "./abac-file.ts";
import type { Authorizer } from "./authorizer.ts";
import { alwaysAllow, alwaysDeny, chainAuthorizers } from "./chain.ts";
import { type DecisionCount, DecisionCounts } from "./decision-counts.ts";
import { createNodeAuthorizer } from "./node.ts";
import { NodeObjects } from "./node-objects.ts";
import { createRbacAuthorizer } from "./rbac.ts";
import { RbacRules } from "./rbac-rules.ts";
import { createWebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook.ts";

export type AuthorizationMode = "Node" | "RBAC" | "AlwaysAllow" | "AlwaysDeny";

/** The mode ABAC. */
export interface AbacMode {
  readonly policies: readonly AbacPolicy[];
}

export type AccessWebhook = Omit<WebhookAuthorizerOptions, "clock">;

/** Asked in order. */
export type AccessModes = readonly (AuthorizationMode | AbacMode | AccessWebhook)[];

export interface Authorizers {
  /** Always uses the current authorizers. */
  readonly authorizer: Authorizer;
  readonly rules: RbacRules;
  /** How often each of them decided. */
  decisions(): readonly DecisionCount[];
  replace(modes: AccessModes): void;
}

export function createAuthorizers(
  modes: AccessModes,
  objects: Objects,
  clock: Clock,
  signal: AbortSignal,
  features: readonly string[] = [],
): Authorizers {
  const rules = new RbacRules(objects);
  rules.start(signal);
  const related = new NodeObjects(objects, signal);
  const decisions = new DecisionCounts();
  const chainOf = (wanted: AccessModes) =>
    chainAuthorizers(
      wanted.map((mode) => {
        if (typeof mode === "string") {
          return decisions.of(
            authorizerOf(mode, rules, related, features),
            mode,
            mode.toLowerCase(),
          );
        }
        return "policies" in mode
          ? decisions.of(createAbacAuthorizer(mode.policies), "ABAC", "abac")
          : decisions.of(createWebhookAuthorizer({ ...mode, clock }), "Webhook", mode.name);
      }),
    );
  let current = chainOf(modes);
  return {
    authorizer: {
      name: current.name,
      authorize: (attributes) => current.authorize(attributes),
      rulesFor: (user, namespace) => current.rulesFor(user, namespace),
    },
    rules,
    decisions: () => decisions.all(),
    replace: (others) => {
      current = chainOf(others);
    },
  };
}

function authorizerOf(
  mode: AuthorizationMode,
  rules: RbacRules,
  related: NodeObjects,
  features: readonly string[],
): Authorizer {
  switch (mode) {
    case "Node":
      return createNodeAuthorizer(related, features);
    case "RBAC":
      return createRbacAuthorizer(rules);
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
  }
}
