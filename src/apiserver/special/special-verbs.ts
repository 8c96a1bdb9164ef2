/** All requests that are not about an object as it is stored: reviews, bindings, evictions, connections. */
import type { Random } from "#lib/random.ts";
import { type KubeletOptions, Kubelets } from "../proxy/kubelets.ts";
import type { SpecialVerbs } from "../request/dispatch.ts";
import type { RequestSecurity } from "../request/security.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { Objects } from "../storage/objects.ts";
import { bindingVerbs } from "./binding.ts";
import { type ComponentCheck, componentStatusVerbs } from "./component-statuses.ts";
import { connectVerbs } from "./connect.ts";
import { evictionVerbs } from "./eviction.ts";
import { reviewVerbs } from "./reviews.ts";

export interface SpecialOptions {
  readonly objects: Objects;
  readonly store: ObjectStore;
  readonly security: RequestSecurity;
  readonly random: Random;
  readonly kubelets: Omit<KubeletOptions, "objects">;
  /** The other parts of the control plane, beside the store. */
  readonly components: Readonly<Record<string, ComponentCheck>> | undefined;
}

export function specialVerbs(options: SpecialOptions): SpecialVerbs {
  const { objects, store, security, random } = options;
  const kubelets = new Kubelets({ objects, ...options.kubelets });
  return {
    ...reviewVerbs(security),
    ...bindingVerbs(objects),
    ...evictionVerbs(objects),
    ...connectVerbs({ objects, random, kubelets, isCredential: security.isCredential }),
    ...componentStatusVerbs({
      ...options.components,
      "etcd-0": async () =>
        store.isCurrent
          ? { well: true, message: "ok" }
          : { well: false, message: "the store is not available" },
    }),
  };
}
