/**
 * The service controller: makes, changes and removes the load balancers of Services of type
 * LoadBalancer.
 *
 * Promises:
 * 1. The finalizer is on the Service before its load balancer exists, and goes after it.
 * 2. The cloud is asked once for each change that matters to a load balancer, never otherwise.
 * 3. A change of the nodes updates each load balancer once.
 * 4. What failed is tried again after 5 seconds, then each time after twice as long, up to 5 minutes.
 */
import type { Node, Service } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type Key,
  type Moment,
  ownKey,
} from "#runtime/controller.ts";
import { cloudCall } from "../cloud-call.ts";
import type { LoadBalancers } from "../provider.ts";
import { BalancedNodesMemo, changesBalancing } from "./balanced-nodes.ts";
import { decideService, type ServiceState, type StepResult } from "./decide-service.ts";
import { hasFinalizer, wantsLoadBalancer } from "./load-balancer-facts.ts";
import { measureServices } from "./measure-services.ts";
import { decideServiceStep, type ServiceMemory, type ServiceStep } from "./service-step.ts";

const BALANCED = "wants-load-balancer";
const YES = "yes";

export interface ServiceControllerOptions {
  readonly balancers: LoadBalancers;
  readonly clusterName: string;
  readonly workers?: number;
}

export function serviceController(
  options: ServiceControllerOptions,
): Controller<ServiceState, ServiceMemory> {
  const memo = new BalancedNodesMemo();
  const keysOfNodeChange = (change: Change<Node>, caches: Caches): readonly Key[] => {
    memo.invalidate();
    if (!changesBalancing(change)) return [];
    return [...caches(serviceKind).byIndex(BALANCED, YES)].flatMap(ownKey);
  };
  return defineController<ServiceState, ServiceMemory>({
    name: "service-lb-controller",
    rule: "a Service of type LoadBalancer has its load balancer, with the nodes that are ready",
    component: "service-controller",
    feeds: [
      { kind: serviceKind, keys: keysOfService },
      { kind: nodeKind, keys: () => [], keysOfChange: keysOfNodeChange },
    ],
    indexes: [{ kind: serviceKind, name: BALANCED, values: indexOf }],
    workers: options.workers ?? 1,
    observe: async (caches, { namespace, name }, _reader, memory, moment) => {
      const service = caches(serviceKind).get(namespace, name);
      const nodes = memo.read(caches);
      const step = decideServiceStep(service, memory, nodes, moment.nowMs);
      const isGone = "service" in step && service?.metadata.uid !== step.service.metadata.uid;
      const result = await carryOut(step, isGone, nodes.nodes, options, moment);
      return { step, nodes, memory, result, isGone };
    },
    decide: decideService,
    measure: measureServices,
  });
}

function keysOfService(service: Service): readonly Key[] {
  return service.spec.type === "LoadBalancer" || hasFinalizer(service) ? ownKey(service) : [];
}

function indexOf(service: Service): readonly string[] {
  return wantsLoadBalancer(service) ? [YES] : [];
}

/** Asks the cloud; undefined where the step is not its affair. */
async function carryOut(
  step: ServiceStep,
  isGone: boolean,
  nodes: readonly Node[],
  { balancers, clusterName }: ServiceControllerOptions,
  { signal }: Moment,
): Promise<StepResult | undefined> {
  switch (step.step) {
    case "ensure": {
      const ensure = () => balancers.ensure(clusterName, step.service, nodes, signal);
      return { of: "ensure", answer: await cloudCall(ensure, signal) };
    }
    case "update-nodes": {
      const update = () => balancers.update(clusterName, step.service, nodes, signal);
      const answer = await cloudCall(update, signal);
      if (answer.ok) return { of: "update-nodes", answer, exists: true };
      const found = await cloudCall(() => balancers.get(clusterName, step.service, signal), signal);
      return { of: "update-nodes", answer, exists: !found.ok || found.value !== undefined };
    }
    case "remove": {
      // Of a Service that is gone the load balancer is removed without a question, as upstream does.
      const find = async (): Promise<boolean> =>
        isGone || (await balancers.get(clusterName, step.service, signal)) !== undefined;
      const found = await cloudCall(find, signal);
      if (!found.ok || !found.value) return { of: "remove", found, answer: undefined };
      const remove = () => balancers.remove(clusterName, step.service, signal);
      return { of: "remove", found, answer: await cloudCall(remove, signal) };
    }
    default:
      return undefined;
  }
}
