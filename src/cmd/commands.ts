/** Every command that the server side offers. The entry loads this file only when one is asked for. */
import { apiserverCommand } from "./apiserver/apiserver-command.ts";
import { cloudControllerManagerCommand } from "./cloud-controller-manager/cloud-manager-command.ts";
import type { Command } from "./command.ts";
import { completionCommand } from "./completion/completion-command.ts";
import { controllerManagerCommand } from "./controller-manager/controller-manager.ts";
import { dashboardCommand } from "./dashboard/dashboard-command.ts";
import { dnsCommand } from "./dns/dns-command.ts";
import { doctorCommand } from "./doctor/doctor.ts";
import { etcdCommand } from "./etcd/etcd-command.ts";
import { imageCommand } from "./image/image-command.ts";
import { ingressCommand } from "./ingress/ingress-command.ts";
import { joinCommand } from "./join/join-command.ts";
import { konnectivityAgentCommand } from "./konnectivity/konnectivity-agent.ts";
import { konnectivityServerCommand } from "./konnectivity/konnectivity-server.ts";
import { kubeletCommand } from "./kubelet/kubelet-command.ts";
import { leaveCommand } from "./leave/leave-command.ts";
import { manifestsCommand } from "./manifests/manifests-command.ts";
import { metricsServerCommand } from "./metrics-server/metrics-server-command.ts";
import { nodeCommand } from "./node/node-command.ts";
import { proxyCommand } from "./proxy/proxy-command.ts";
import { schedulerCommand } from "./scheduler/scheduler-command.ts";
import { simulateCommand } from "./simulate/simulate-command.ts";
import { snapshotCommand } from "./snapshot/snapshot-command.ts";
import { storeCommand } from "./store/store-command.ts";
import { tokenCommand } from "./token/token-command.ts";
import { downCommand } from "./up/down.ts";
import { kubeconfigCommand } from "./up/kubeconfig/kubeconfig-command.ts";
import { logsCommand } from "./up/logs/logs-command.ts";
import { statusCommand } from "./up/status/status-command.ts";
import { upCommand } from "./up/up.ts";
import { versionCommand } from "./version/version-command.ts";
import { whyCommand } from "./why/why-command.ts";

export const commands: readonly Command[] = [
  apiserverCommand,
  cloudControllerManagerCommand,
  controllerManagerCommand,
  dashboardCommand,
  dnsCommand,
  doctorCommand,
  downCommand,
  etcdCommand,
  proxyCommand,
  schedulerCommand,
  simulateCommand,
  snapshotCommand,
  storeCommand,
  imageCommand,
  ingressCommand,
  joinCommand,
  konnectivityAgentCommand,
  konnectivityServerCommand,
  kubeletCommand,
  leaveCommand,
  manifestsCommand,
  metricsServerCommand,
  nodeCommand,
  tokenCommand,
  upCommand,
  statusCommand,
  logsCommand,
  kubeconfigCommand,
  versionCommand,
  whyCommand,
  completionCommand(() => commands),
];
