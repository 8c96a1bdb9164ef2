/** The old ComponentStatus: is the store well? */
import type { ComponentStatus } from "#api/generated/core.v1.ts";
import { failure, notFoundStatus, success } from "#api/meta/status.ts";
import type { SpecialVerbs } from "../dispatch.ts";
import { listOptions } from "../query-options.ts";
import { Revision } from "../revision.ts";
import { select } from "../selection.ts";
import type { VerbRequest } from "../verb.ts";

export function componentStatusVerbs(storeIsWell: () => boolean): SpecialVerbs {
  const etcd = ({ resource }: VerbRequest): Revision => {
    const well = storeIsWell();
    const status: ComponentStatus = {
      kind: "ComponentStatus",
      apiVersion: "v1",
      metadata: { name: "etcd-0" },
      conditions: [
        {
          type: "Healthy",
          status: well ? "True" : "False",
          ...(well ? { message: "ok" } : { error: "the store is not available" }),
        },
      ],
    };
    return Revision.fromValue(resource.kind, "", 0, status);
  };
  return {
    "/componentstatuses": {
      get: async (verb) => {
        if (verb.info.name === "etcd-0") {
          return success({ code: 200, body: { form: "object", object: etcd(verb) } });
        }
        return failure(notFoundStatus({ group: "", resource: "componentstatus" }, verb.info.name));
      },
      list: async (verb) => {
        const { resource, request } = verb;
        const options = listOptions(request.query);
        if (!options.ok) return options;
        const selection = select(resource, "", options.value);
        if (!selection.ok) return selection;
        const { matches } = selection.value;
        const items = [etcd(verb)].filter((one) => matches?.(one) ?? true);
        const list = {
          kind: resource.kind,
          items,
          resourceVersion: "",
          place: "",
          query: request.query,
        };
        return success({ code: 200, body: { form: "list", list } });
      },
    },
  };
}
