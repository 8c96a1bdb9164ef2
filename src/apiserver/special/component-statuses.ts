/** The old ComponentStatus: are the store and the other parts of the control plane well? */
import type { ComponentCondition, ComponentStatus } from "#api/generated/core.v1.ts";
import type { Kind } from "#api/kind.ts";
import { failure, methodNotSupportedStatus, notFoundStatus, success } from "#api/meta/status.ts";
import type { SpecialVerbs } from "../request/dispatch.ts";
import { listOptions } from "../request/query-options.ts";
import { select } from "../request/selection.ts";
import { groupResourceOf } from "../request/verb.ts";
import { Revision } from "../storage/revision.ts";

export interface ComponentHealth {
  readonly well: boolean;
  readonly message: string;
}

/** Looks after one part of the control plane; never rejects. */
export type ComponentCheck = () => Promise<ComponentHealth>;

export function componentStatusVerbs(
  checks: Readonly<Record<string, ComponentCheck>>,
): SpecialVerbs {
  const names = Object.keys(checks).sort();
  const look = async (name: string, kind: Kind): Promise<Revision> => {
    const { well, message } = await checks[name]!();
    const condition: ComponentCondition = {
      type: "Healthy",
      status: well ? "True" : "False",
      message,
    };
    const status: ComponentStatus = {
      kind: "ComponentStatus",
      apiVersion: "v1",
      metadata: { name },
      conditions: [condition],
    };
    return Revision.fromValue(kind, "", 0, status);
  };
  return {
    "/componentstatuses": {
      get: async ({ resource, info: { name } }) => {
        if (!names.includes(name))
          return failure(notFoundStatus({ group: "", resource: "componentstatus" }, name));
        const object = await look(name, resource.kind);
        return success({ code: 200, body: { form: "object", object } });
      },
      list: async ({ resource, request }) => {
        const options = listOptions(request.query);
        if (!options.ok) return options;
        const selection = select(resource, "", options.value);
        if (!selection.ok) return selection;
        const { matches } = selection.value;
        const all = await Promise.all(names.map((name) => look(name, resource.kind)));
        const list = {
          kind: resource.kind,
          items: all.filter((one) => matches?.(one) ?? true),
          resourceVersion: "",
          place: "",
          query: request.query,
        };
        return success({ code: 200, body: { form: "list", list } });
      },
      watch: async ({ resource, request }) => {
        const options = listOptions(request.query, true);
        if (!options.ok) return options;
        const selection = select(resource, "", options.value);
        if (!selection.ok) return selection;
        return failure(methodNotSupportedStatus(groupResourceOf(resource), "watch"));
      },
    },
  };
}
