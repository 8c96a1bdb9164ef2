/** The webhooks of all configurations of one kind, in the order in which they are called. */
import type { AdmissionProgram } from "#api/expressions/admission-program.ts";
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "#api/generated/admissionregistration.v1.ts";
import { compileConditions } from "../expressions/match-conditions.ts";
import { type CompiledMatch, compileMatch } from "../matching/match-request.ts";

export interface Hook {
  /** Of the configuration and the webhook in it; the same as long as that is there. */
  readonly uid: string;
  readonly configuration: string;
  /** Those of validating webhooks have no reinvocationPolicy. */
  readonly webhook: MutatingWebhook;
  readonly match: CompiledMatch;
  readonly conditions: readonly AdmissionProgram[];
  /** A call that fails lets the request pass (failurePolicy Ignore). */
  readonly failsOpen: boolean;
}

export function compileHooks({
  metadata: { name = "" },
  webhooks,
}: MutatingWebhookConfiguration | ValidatingWebhookConfiguration): readonly Hook[] {
  const counts = new Map<string, number>();
  return (webhooks ?? []).map((webhook) => {
    const count = counts.get(webhook.name) ?? 0;
    counts.set(webhook.name, count + 1);
    const { namespaceSelector, objectSelector, matchPolicy, rules } = webhook;
    return {
      uid: `${name}/${webhook.name}/${count}`,
      configuration: name,
      webhook,
      match: compileMatch({
        ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
        ...(objectSelector === undefined ? {} : { objectSelector }),
        ...(matchPolicy === undefined ? {} : { matchPolicy }),
        rules: rules ?? [],
      }),
      conditions: compileConditions(webhook.matchConditions, false),
      failsOpen: webhook.failurePolicy === "Ignore",
    };
  });
}
