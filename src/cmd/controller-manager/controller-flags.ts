/**
 * What the controllers need beside the cluster: read from flags, with the keys that lie in files.
 * Files of keys are read when they are used, so that renewed ones are taken up.
 */
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command as Parser } from "commander";
import { signToken } from "#apiserver/authn/jwt.ts";
import type { CertificateSigning } from "#controllers/certificates/signing.ts";
import type { NodeIpamOptions } from "#controllers/node-ipam/node-ipam.ts";
import type { ControllerOptions } from "#controllers/registry/controllers.ts";
import type { AccountTokens } from "#controllers/service-account-tokens/tokens.ts";
import type { Clock } from "#lib/time/clock.ts";
import { grantRequest } from "#pki/certificate-request.ts";
import { parsePrivateKey, readKeyPair } from "#pki/key-pair.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { countOf, durationOf, type Flags, isOn, numberOf, textOf } from "../flags/read-flags.ts";
import { nodeRangesOf } from "./node-ranges.ts";
import { addRecyclerFlags, recyclersOf } from "./recycler-flags.ts";

/** The middle of each signer's own flags, and its name. */
const SIGNERS: Readonly<Record<string, string>> = {
  "kubelet-serving": "kubernetes.io/kubelet-serving",
  "kubelet-client": "kubernetes.io/kube-apiserver-client-kubelet",
  "kube-apiserver-client": "kubernetes.io/kube-apiserver-client",
  "legacy-unknown": "kubernetes.io/legacy-unknown",
};

export function addControllerFlags(parser: Parser): Parser {
  parser
    .option("--root-ca-file <file>", "certificate authority for pods to trust the API server by")
    .option("--cluster-signing-duration <duration>", "the longest life of a certificate", "8760h")
    .option("--cluster-signing-cert-file <file>", "authority that signs certificate requests")
    .option("--cluster-signing-key-file <file>", "its key")
    .option("--service-account-private-key-file <file>", "key that signs service accounts' tokens")
    .option(
      "--legacy-service-account-token-clean-up-period <duration>",
      "unused legacy service account tokens are deleted after this time",
      "8760h",
    )
    .option("--horizontal-pod-autoscaler-sync-period <duration>", "between two looks", "15s")
    .option("--horizontal-pod-autoscaler-tolerance <share>", "that changes nothing", "0.1")
    .option(
      "--horizontal-pod-autoscaler-downscale-stabilization <duration>",
      "how long a higher number is held",
      "5m",
    )
    .option(
      "--horizontal-pod-autoscaler-cpu-initialization-period <duration>",
      "so long after its start a pod's processor time counts only while it is ready",
      "5m",
    )
    .option(
      "--horizontal-pod-autoscaler-initial-readiness-delay <duration>",
      "a pod that went down so soon after its start never was up",
      "30s",
    )
    .option("--node-monitor-grace-period <duration>", "silence that makes a node unknown", "50s")
    .option("--node-monitor-period <duration>", "no effect: heartbeats are watched", "5s")
    .option("--node-startup-grace-period <duration>", "the same for a node that is new", "1m")
    .option("--node-eviction-rate <number>", "lost nodes a second that lose their pods", "0.1")
    .option("--secondary-node-eviction-rate <number>", "where much of a zone is lost", "0.01")
    .option("--large-cluster-size-threshold <number>", "smaller zones evict none then", "50")
    .option("--unhealthy-zone-threshold <share>", "lost nodes that are much of a zone", "0.55")
    .option("--terminated-pod-gc-threshold <number>", "ended pods that may stay; 0: all", "12500")
    .option("--max-endpoints-per-slice <number>", "of an EndpointSlice", "100")
    .option("--mirroring-max-endpoints-per-subset <number>", "that are mirrored", "1000")
    .option("--resource-quota-sync-period <duration>", "between two counts of all", "5m")
    .option("--pvclaimbinder-sync-period <duration>", "between two looks at a claim", "15s")
    .option("--allocate-node-cidrs [bool]", "give nodes ranges of addresses for pods", "false")
    .option("--cluster-cidr <ranges>", "of pods' addresses, one of each family")
    .option("--service-cluster-ip-range <ranges>", "of Services' addresses; no node gets them")
    .option("--node-cidr-mask-size <bits>", "of a node's range")
    .option("--node-cidr-mask-size-ipv4 <bits>", "of a node's range; 24 unless given")
    .option("--node-cidr-mask-size-ipv6 <bits>", "of a node's range; 64 unless given");
  for (const [flag, signer] of Object.entries(SIGNERS)) {
    parser
      .option(`--cluster-signing-${flag}-cert-file <file>`, `authority of ${signer}`)
      .option(`--cluster-signing-${flag}-key-file <file>`, "its key");
  }
  return addRecyclerFlags(parser);
}

/** `flags` as commander names them: in camel case. */
export function controllerOptionsOf(flags: Flags, clock: Clock): ControllerOptions {
  const rootCaFile = textOf(flags, "root-ca-file");
  const rootCa = rootCaFile === undefined ? {} : { rootCa: readFileSync(rootCaFile, "utf8") };
  const accountKeyFile = textOf(flags, "service-account-private-key-file");
  const certificateSigning = signingOf(flags, clock);
  return {
    nodeHealth: {
      gracePeriodMs: durationOf(flags, "node-monitor-grace-period"),
      startupGracePeriodMs: durationOf(flags, "node-startup-grace-period"),
    },
    nodeEviction: {
      rate: numberOf(flags, "node-eviction-rate"),
      secondaryRate: numberOf(flags, "secondary-node-eviction-rate"),
      largeZoneMin: numberOf(flags, "large-cluster-size-threshold"),
      unhealthyShare: numberOf(flags, "unhealthy-zone-threshold"),
    },
    autoscalers: {
      periodMs: durationOf(flags, "horizontal-pod-autoscaler-sync-period"),
      tolerance: numberOf(flags, "horizontal-pod-autoscaler-tolerance"),
      downscaleSeconds:
        durationOf(flags, "horizontal-pod-autoscaler-downscale-stabilization") / 1000,
      cpuInitializationMs: durationOf(flags, "horizontal-pod-autoscaler-cpu-initialization-period"),
      initialReadinessDelayMs: durationOf(
        flags,
        "horizontal-pod-autoscaler-initial-readiness-delay",
      ),
    },
    endedPodsMax: numberOf(flags, "terminated-pod-gc-threshold"),
    endpointsPerSliceMax: countOf(flags, "max-endpoints-per-slice", 1000),
    mirroredAddressesMax: countOf(flags, "mirroring-max-endpoints-per-subset", 1000),
    quotaResyncMs: durationOf(flags, "resource-quota-sync-period"),
    claimRecheckMs: durationOf(flags, "pvclaimbinder-sync-period"),
    recyclers: recyclersOf(flags),
    ...(isOn(flags, "allocate-node-cidrs") ? { nodeIpam: ipamOf(flags) } : {}),
    ...rootCa,
    ...(accountKeyFile === undefined
      ? {}
      : { accountTokens: { ...rootCa, sign: accountTokenSigner(accountKeyFile) } }),
    legacyTokenUnusedMs: durationOf(flags, "legacy-service-account-token-clean-up-period"),
    hmac: (key, text) => createHmac("sha256", key).update(text).digest("base64url"),
    ...(certificateSigning === undefined ? {} : { certificateSigning }),
  };
}

function accountTokenSigner(file: string): AccountTokens["sign"] {
  const key = parsePrivateKey(readFileSync(file, "utf8"), file);
  return (claims) => signToken(claims, key);
}

function ipamOf(flags: Flags): NodeIpamOptions {
  const size = (flag: string): number | undefined =>
    textOf(flags, flag) === undefined ? undefined : numberOf(flags, flag);
  return nodeRangesOf({
    clusterCidr: textOf(flags, "cluster-cidr"),
    serviceRange: textOf(flags, "service-cluster-ip-range"),
    size: size("node-cidr-mask-size"),
    sizeIpv4: size("node-cidr-mask-size-ipv4"),
    sizeIpv6: size("node-cidr-mask-size-ipv6"),
  });
}

function signingOf(flags: Flags, clock: Clock): CertificateSigning | undefined {
  const shared = filesOf(flags, "cluster-signing");
  const own = Object.entries(SIGNERS).flatMap(([flag, signer]) => {
    const files = filesOf(flags, `cluster-signing-${flag}`);
    return files === undefined ? [] : [[signer, files] as const];
  });
  if (shared !== undefined && own.length > 0) {
    throw new FlagError("--cluster-signing-cert-file and a signer's own file exclude each other");
  }
  const files = shared ? Object.values(SIGNERS).map((signer) => [signer, shared] as const) : own;
  if (files.length === 0) return undefined;
  return {
    lifetimeMaxMs: durationOf(flags, "cluster-signing-duration"),
    signers: Object.fromEntries(
      files.map(([signer, { certificateFile, keyFile }]) => [
        signer,
        (grant) => {
          const pair = readKeyPair(certificateFile, keyFile);
          if (pair === undefined) throw new Error(`${certificateFile} is missing`);
          const key = parsePrivateKey(pair.keyPem, keyFile);
          return grantRequest(grant, { ...pair, key }, clock.nowMs());
        },
      ]),
    ),
  };
}

function filesOf(
  flags: Flags,
  prefix: string,
): { readonly certificateFile: string; readonly keyFile: string } | undefined {
  const certificateFile = textOf(flags, `${prefix}-cert-file`);
  const keyFile = textOf(flags, `${prefix}-key-file`);
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile === undefined || keyFile === undefined) {
    throw new FlagError(`--${prefix}-cert-file and --${prefix}-key-file need each other`);
  }
  return { certificateFile, keyFile };
}
