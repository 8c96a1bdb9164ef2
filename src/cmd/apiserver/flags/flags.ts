/** The flags of `k8ts apiserver`: upstream's names where upstream has the flag. */
import type { HistoryPolicy } from "#store/history-policy.ts";
import { checkFeatureGates, featureSwitches } from "../../flags/feature-gates.ts";
import { type GivenLogFlags, type LogFlags, logFlagsOf } from "../../flags/log-flags.ts";
import { FlagError, parseArguments } from "../../flags/parse-flags.ts";
import type { EtcdOverride } from "./etcd-overrides-flag.ts";
import { flagParser } from "./flag-parser.ts";
import type { NamedCertificateFiles } from "./named-certificate-flag.ts";
import { checkOtherFlags } from "./other-flags.ts";
import { type TlsVersion, tlsVersionOf } from "./tls-flags.ts";
import { checkFlags } from "./validate-flags.ts";

export interface ApiServerFlags extends LogFlags {
  readonly dataDir: string;
  /** Begin anew where the store is missing or damaged. */
  readonly newCluster: boolean;
  /** Of the embedded store; its own default unless given. */
  readonly history: HistoryPolicy | undefined;
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress: string | undefined;
  readonly externalHostname: string | undefined;
  readonly etcdServers: readonly string[];
  readonly etcdServersOverrides: readonly EtcdOverride[];
  /** Below which keys lie, without a slash at the end. */
  readonly etcdPrefix: string;
  readonly etcdCafile: string | undefined;
  readonly etcdCertfile: string | undefined;
  readonly etcdKeyfile: string | undefined;
  /** Seconds; 0: others compact. */
  readonly etcdCompactionInterval: number;
  readonly storageMediaType: string;
  readonly encryptionProviderConfig: string | undefined;
  readonly encryptionProviderConfigAutomaticReload: boolean;
  readonly clientCaFile: string | undefined;
  /** More names of the certificate that is made. */
  readonly tlsSan: readonly string[];
  readonly tlsCertFile: string | undefined;
  readonly tlsPrivateKeyFile: string | undefined;
  readonly tlsSniCertKey: readonly NamedCertificateFiles[];
  readonly requestheaderClientCaFile: string | undefined;
  readonly requestheaderAllowedNames: readonly string[];
  readonly requestheaderUsernameHeaders: readonly string[];
  readonly requestheaderUidHeaders: readonly string[] | undefined;
  readonly requestheaderGroupHeaders: readonly string[];
  readonly requestheaderExtraHeadersPrefix: readonly string[];
  readonly tokenAuthFile: string | undefined;
  readonly authenticationConfig: string | undefined;
  /** Undefined unless the flag was given. */
  readonly anonymousAuth: boolean | undefined;
  readonly enableBootstrapTokenAuth: boolean;
  readonly oidcIssuerUrl: string | undefined;
  readonly oidcClientId: string | undefined;
  readonly oidcUsernameClaim: string | undefined;
  readonly oidcUsernamePrefix: string | undefined;
  readonly oidcGroupsClaim: string | undefined;
  readonly oidcGroupsPrefix: string | undefined;
  readonly oidcCaFile: string | undefined;
  readonly oidcSigningAlgs: readonly string[];
  readonly oidcRequiredClaim: readonly string[];
  readonly serviceAccountIssuer: readonly string[];
  readonly serviceAccountKeyFile: readonly string[];
  readonly serviceAccountSigningKeyFile: string | undefined;
  readonly serviceAccountJwksUri: string | undefined;
  /** 0: as long as asked for. */
  readonly serviceAccountMaxTokenExpiration: number;
  readonly serviceAccountExtendTokenExpiration: boolean;
  readonly apiAudiences: readonly string[];
  readonly authorizationMode: readonly string[];
  readonly authorizationConfig: string | undefined;
  readonly authorizationPolicyFile: string | undefined;
  readonly authorizationWebhookConfigFile: string | undefined;
  readonly authorizationWebhookVersion: string;
  /** Seconds, as all durations. */
  readonly authorizationWebhookCacheAuthorizedTtl: number;
  readonly authorizationWebhookCacheUnauthorizedTtl: number;
  readonly authenticationTokenWebhookConfigFile: string | undefined;
  readonly authenticationTokenWebhookVersion: string;
  readonly authenticationTokenWebhookCacheTtl: number;
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  readonly admissionControlConfigFile: string | undefined;
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
  readonly egressSelectorConfigFile: string | undefined;
  readonly tracingConfigFile: string | undefined;
  /** SSH tunnels to the nodes, if they are given. */
  readonly sshUser: string | undefined;
  readonly sshKeyfile: string | undefined;
  readonly auditLogPath: string | undefined;
  readonly auditPolicyFile: string | undefined;
  readonly auditWebhookConfigFile: string | undefined;
  readonly auditWebhookMode: string;
  readonly auditWebhookBatchMaxSize: number;
  readonly auditWebhookBatchMaxWait: number;
  readonly auditWebhookBatchBufferSize: number;
  readonly auditWebhookInitialBackoff: number;
  readonly auditWebhookTruncateEnabled: boolean;
  readonly auditWebhookTruncateMaxEventSize: number;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxage: number;
  readonly auditLogFormat: string;
  readonly auditLogMode: string;
  readonly auditLogCompress: boolean;
  readonly auditLogTruncateEnabled: boolean;
  readonly auditLogTruncateMaxEventSize: number;
  readonly kubeletCertificateAuthority: string | undefined;
  readonly proxyClientCertFile: string | undefined;
  readonly proxyClientKeyFile: string | undefined;
  readonly kubeletClientCertificate: string | undefined;
  readonly kubeletClientKey: string | undefined;
  /** Seconds. */
  readonly kubeletTimeout: number;
  readonly kubeletPreferredAddressTypes: readonly string[];
  readonly serviceClusterIpRange: readonly string[];
  readonly serviceNodePortRange: { readonly first: number; readonly last: number };
  readonly allowPrivileged: boolean;
  /** Names of features that are off by default and on here. */
  readonly features: readonly string[];
  readonly eventTtlSeconds: number;
  readonly runtimeConfig: Readonly<Record<string, boolean>>;
  readonly enablePriorityAndFairness: boolean;
  /** 0: requests may take as long as they like. */
  readonly requestTimeoutSeconds: number;
  readonly minRequestTimeout: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly shutdownDelaySeconds: number;
  readonly tlsMinVersion: TlsVersion | undefined;
  /** Upstream's names. */
  readonly tlsCipherSuites: readonly string[];
  /** OpenSSL's names. */
  readonly tlsCurvePreferences: readonly string[];
  readonly http2MaxStreamsPerConnection: number;
  readonly disableHttp2Serving: boolean;
  readonly goawayChance: number;
  readonly profiling: boolean;
  readonly corsAllowedOrigins: readonly string[];
  readonly strictTransportSecurityDirectives: readonly string[];
  /** Flags that were given but change nothing here. */
  readonly withoutEffect: readonly string[];
}

/** As the parser declares them. What has another name or form in the end is here as it was given. */
interface GivenFlags
  extends Omit<
      ApiServerFlags,
      "authorizationMode" | "features" | "tlsMinVersion" | "withoutEffect"
    >,
    GivenLogFlags {
  readonly authorizationMode: readonly string[] | undefined;
  readonly eventTtl: number;
  readonly requestTimeout: number;
  readonly shutdownDelayDuration: number;
  readonly tlsMinVersion: string | undefined;
  readonly featureGates?: unknown;
}

/** Throws FlagError, which says what is wrong, for flags that cannot be used. */
export function parseFlags(args: readonly string[]): ApiServerFlags {
  const raw = parseArguments(flagParser(), args).opts<GivenFlags>();
  const withoutEffect = checkOtherFlags({ ...raw });
  checkFeatureGates(raw.featureGates);
  const features = featureSwitches(raw.featureGates);
  const { eventTtl, requestTimeout, shutdownDelayDuration, tlsMinVersion } = raw;
  return checkFlags({
    ...raw,
    features: features.enabled,
    withoutEffect: withoutEffect.filter((flag) => flag !== GATES_FLAG || !features.areAllKnown),
    authorizationMode: modesOf(raw),
    shutdownDelaySeconds: shutdownDelayDuration,
    tlsMinVersion: tlsVersionOf(tlsMinVersion ?? ""),
    eventTtlSeconds: eventTtl,
    requestTimeoutSeconds: requestTimeout,
    ...logFlagsOf(raw),
  });
}

const GATES_FLAG = "--feature-gates";

/** A file says who decides, or the modes do. */
function modesOf({ authorizationMode, authorizationConfig }: GivenFlags): readonly string[] {
  if (authorizationConfig === undefined) return authorizationMode ?? DEFAULT_MODES;
  if (authorizationMode === undefined) return DEFAULT_MODES;
  throw new FlagError(
    "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
  );
}

const DEFAULT_MODES: readonly string[] = ["Node", "RBAC"];

/** As they are in force, by the names that people give them. */
export function flagTexts(flags: ApiServerFlags): Record<string, string> {
  const { withoutEffect: _, ...rest } = flags;
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      typeof value === "object" ? JSON.stringify(value) : String(value ?? ""),
    ]),
  );
}
