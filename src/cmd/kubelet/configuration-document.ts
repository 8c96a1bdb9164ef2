/** The configuration in force as a KubeletConfiguration: what `/configz` shows. Pure. */
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";

export function configurationDocument(config: KubeletConfig): object {
  return {
    kind: "KubeletConfiguration",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    staticPodPath: config.staticPodPath,
    fileCheckFrequency: secondsText(config.fileCheckMs),
    port: config.port,
    clusterDNS: config.clusterDns,
    clusterDomain: config.clusterDomain,
    resolvConf: config.resolvConf,
    maxPods: config.maxPods,
    cgroupRoot: config.cgroupRoot,
    systemReserved: config.systemReserved,
    kubeReserved: config.kubeReserved,
    evictionHard: config.evictionHard,
    evictionPressureTransitionPeriod: secondsText(config.evictionPressureTransitionMs),
    nodeLeaseDurationSeconds: config.leaseDurationSeconds,
    registerWithTaints: config.taints,
    registerNode: config.registerNode,
    providerID: config.providerId,
    podLogsDir: config.podLogsDir,
    seccompDefault: config.seccompDefault,
    containerRuntimeEndpoint: config.runtimeEndpoint,
    imageServiceEndpoint: config.imageEndpoint,
  };
}

function secondsText(milliseconds: number): string {
  return `${milliseconds / 1000}s`;
}
