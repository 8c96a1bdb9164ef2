/** The kinds of the core group (but workloads), storage, scheduling, coordination and their like. */
import { bindingKind } from "./core/v1/binding.ts";
import { componentStatusKind } from "./core/v1/component-status.ts";
import { configMapKind } from "./core/v1/config-map.ts";
import { endpointsKind } from "./core/v1/endpoints.ts";
import { eventKind } from "./core/v1/event.ts";
import { limitRangeKind } from "./core/v1/limit-range.ts";
import { namespaceKind } from "./core/v1/namespace.ts";
import { nodeKind } from "./core/v1/node.ts";
import { resourceQuotaKind } from "./core/v1/resource-quota.ts";
import { secretKind } from "./core/v1/secret.ts";
import { serviceKind } from "./core/v1/service/service.ts";
import { serviceAccountKind } from "./core/v1/service-account.ts";
import { endpointSliceKind } from "./discovery/v1/endpoint-slice.ts";
import { eventKind as eventsEventKind } from "./events/v1/event.ts";
import type { Kind } from "./kind.ts";

export const coreKinds: readonly Kind[] = [
  bindingKind,
  componentStatusKind,
  configMapKind,
  endpointsKind,
  eventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  resourceQuotaKind,
  secretKind,
  serviceKind,
  serviceAccountKind,
  eventsEventKind,
  endpointSliceKind,
];
