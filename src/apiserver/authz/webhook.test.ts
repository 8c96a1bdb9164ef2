import assert from "node:assert/strict";
import { test } from "vitest";
import { compileAccessCondition } from "#api/expressions/access-review.ts";
import { silentLogger } from "#lib/logger.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { AccessAttributes } from "./authorizer.ts";
import { createWebhookAuthorizer } from "./webhook.ts";

const getPods: AccessAttributes = {
  user: { name: "jane", groups: ["dev"] },
  isResource: true,
  verb: "get",
  path: "/api/v1/namespaces/a/pods/p",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "a",
  name: "p",
};
const getHealth: AccessAttributes = {
  ...getPods,
  isResource: false,
  path: "/healthz",
  version: "",
  resource: "",
  namespace: "",
  name: "",
};
const skipped = { decision: "noOpinion", reason: "" };
const failed = (onFailure: string, ...texts: string[]) => {
  const faults = texts.map(
    (text) =>
      `cel evaluation error: expression '${text}' resulted in error: no such key: resourceAttributes`,
  );
  const fault = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  return { decision: onFailure, reason: "", fault };
};
const asked = { decision: "allow", reason: "asked" };

const RESOURCE = "request.resourceAttributes.namespace == 'a'";
const VERB = "request.resourceAttributes.verb == 'get'";
const rows: {
  name: string;
  conditions: string[];
  attributes?: AccessAttributes;
  onFailure?: "deny";
  want: unknown;
}[] = [
  { name: "asked without conditions", conditions: [], want: asked },
  {
    name: "asked where all hold",
    conditions: [RESOURCE, VERB, "'dev' in request.groups"],
    want: asked,
  },
  {
    name: "not asked where one does not",
    conditions: ["request.user != 'jane'", RESOURCE],
    want: skipped,
  },
  {
    name: "absent texts are empty ones",
    conditions: ["request.uid == '' && request.resourceAttributes.subresource == ''"],
    want: asked,
  },
  {
    name: "absent selectors are absent",
    conditions: ["has(request.resourceAttributes.fieldSelector)"],
    want: skipped,
  },
  {
    name: "selectors",
    attributes: {
      ...getPods,
      fieldSelector: [{ field: "spec.nodeName", operator: "=", value: "n" }],
    },
    conditions: [
      "request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.operator == 'In' && r.values == ['n'])",
    ],
    want: asked,
  },
  {
    name: "no opinion if a match condition fails to evaluate",
    attributes: getHealth,
    conditions: [RESOURCE, VERB],
    want: failed("noOpinion", RESOURCE, VERB),
  },
  {
    name: "or a refusal",
    attributes: getHealth,
    onFailure: "deny",
    conditions: [RESOURCE],
    want: failed("deny", RESOURCE),
  },
  {
    name: "unless another does not hold",
    attributes: getHealth,
    onFailure: "deny",
    conditions: [RESOURCE, "has(request.resourceAttributes)"],
    want: skipped,
  },
];

for (const { name, conditions, attributes = getPods, onFailure = "noOpinion", want } of rows) {
  test(`a webhook's conditions: ${name}`, async () => {
    const authorizer = createWebhookAuthorizer({
      name: "hook",
      ask: async () => ({ status: { allowed: true, reason: "asked" } }),
      version: "v1",
      allowedMs: 0,
      refusedMs: 0,
      onFailure,
      conditions: conditions.map((text) => {
        const compiled = compileAccessCondition(text);
        assert.ok(compiled.ok, text);
        return compiled.value;
      }),
      clock: new VirtualClock(0),
      logger: silentLogger,
    });
    assert.deepEqual(await authorizer.authorize(attributes), want);
  });
}
