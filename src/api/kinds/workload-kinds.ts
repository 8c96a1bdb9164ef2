/** Pods and the kinds that make them. */

import type { Kind } from "../kind.ts";
import { controllerRevisionKind } from "./apps/v1/controller-revision.ts";
import { daemonSetKind } from "./apps/v1/daemon-set.ts";
import { deploymentKind } from "./apps/v1/deployment.ts";
import { replicaSetKind } from "./apps/v1/replica-set.ts";
import { statefulSetKind } from "./apps/v1/stateful-set.ts";
import { cronJobKind } from "./batch/v1/cron-job.ts";
import { jobKind } from "./batch/v1/job.ts";
import { podKind } from "./core/v1/pod.ts";
import { podTemplateKind } from "./core/v1/workload/pod-template.ts";
import { replicationControllerKind } from "./core/v1/workload/replication-controller.ts";

export const workloadKinds: readonly Kind[] = [
  podKind,
  podTemplateKind,
  replicationControllerKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  cronJobKind,
  jobKind,
];
