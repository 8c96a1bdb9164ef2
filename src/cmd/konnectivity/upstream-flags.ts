/**
 * Flags of upstream's proxy-server and proxy-agent that have nothing to act on here. Manifests use them:
 * they are accepted and reported. Those that ask for leases of servers are refused.
 */
import type { AcceptedFlags } from "../flags/accepted-flags.ts";

/** Of klog, and of Go's profiler. */
const PROCESS_FLAGS: readonly string[] = [
  ...["add-dir-header", "alsologtostderr", "alsologtostderrthreshold", "log-backtrace-at"],
  ...["legacy-stderr-threshold-behavior", "log-dir", "log-file", "log-file-max-size"],
  ...["logtostderr", "one-output", "skip-headers", "skip-log-headers", "stderrthreshold"],
  ...["vmodule", "enable-profiling", "enable-contention-profiling", "kube-api-content-type"],
];

export const UPSTREAM_SERVER_FLAGS: AcceptedFlags = {
  withoutEffect: [
    ...PROCESS_FLAGS,
    ...["backend-dial-timeout", "cipher-suites", "graceful-shutdown-timeout", "xfr-channel-size"],
    ...["kubeconfig-burst", "kubeconfig-qps", "lease-label", "lease-namespace"],
  ],
  kept: { "enable-lease-controller": /^false$/, "tls-min-version": /^(VersionTLS12)?$/ },
};

export const UPSTREAM_AGENT_FLAGS: AcceptedFlags = {
  withoutEffect: [
    ...PROCESS_FLAGS,
    ...["kubeconfig", "lease-label-selector", "lease-namespace", "probe-interval"],
    ...["warn-on-channel-limit", "xfr-channel-size"],
  ],
  kept: {
    "alpn-proto": /^$/,
    "count-server-leases": /^false$/,
    "server-count-source": /^default$/,
  },
};
