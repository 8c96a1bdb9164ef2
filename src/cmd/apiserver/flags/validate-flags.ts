/**
 * Reports flags whose values are well-formed but invalid, all at once, with upstream's texts. Files and
 * names of plug-ins are not checked here but where they are used.
 */

import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseCidr } from "#api/validation/ip.ts";
import { FlagError } from "../../flags/parse-flags.ts";
import type { ApiServerFlags } from "./flags.ts";
import { responseHeaderFaults } from "./response-header-flags.ts";
import { unknownCiphers } from "./tls-flags.ts";

const AUTHORIZATION_MODES: readonly string[] = [
  ...["Node", "RBAC", "Webhook", "ABAC", "AlwaysAllow", "AlwaysDeny"],
];
const WEBHOOK_VERSIONS = ["v1", "v1beta1"];
const AUDIT_FORMATS = ["legacy", "json"];
const AUDIT_MODES = ["batch", "blocking", "blocking-strict"];
const PORT_MAX = 65_535;
const ADDRESSES_MIN = 8;
const TOKEN_SECONDS = { min: 3600, max: 2 ** 32 };
const STORED_FORMS = ["application/json", "application/vnd.kubernetes.protobuf"];

export function checkFlags(flags: ApiServerFlags): ApiServerFlags {
  const faults = [
    ...servingFaults(flags),
    ...authorizationFaults(flags),
    ...webhookFaults(flags),
    ...admissionFaults(flags),
    ...tokenFaults(flags),
    ...oidcFaults(flags),
    ...rangeFaults(flags.serviceClusterIpRange),
    ...auditFaults(flags),
    ...storageFaults(flags),
    ...runtimeConfigFaults(flags.runtimeConfig),
    ...tunnelFaults(flags),
  ];
  if (faults.length === 0) return flags;
  throw new FlagError(faults.length === 1 ? faults[0]! : `[${faults.join(", ")}]`);
}

function tunnelFaults({ sshUser, sshKeyfile, egressSelectorConfigFile }: ApiServerFlags): string[] {
  if ((sshUser === undefined) !== (sshKeyfile === undefined)) {
    return ["--ssh-user and --ssh-keyfile must be specified together"];
  }
  return sshUser === undefined || egressSelectorConfigFile === undefined
    ? []
    : ["--ssh-user and --egress-selector-config-file cannot be used together"];
}

function servingFaults(flags: ApiServerFlags): string[] {
  const { securePort: port, tlsCertFile, tlsPrivateKeyFile } = flags;
  const faults: string[] = [];
  if (port < 0 || port > PORT_MAX) {
    faults.push(`--secure-port ${port} must be between 0 and ${PORT_MAX}, inclusive`);
  }
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    faults.push("--tls-cert-file and --tls-private-key-file must be specified together");
  }
  if (flags.maxRequestsInflight < 0) {
    faults.push("--max-requests-inflight can not be negative value");
  }
  if (flags.maxMutatingRequestsInflight < 0) {
    faults.push("--max-mutating-requests-inflight can not be negative value");
  }
  const unknown = unknownCiphers(flags.tlsCipherSuites);
  if (unknown.length > 0) {
    faults.push(`Cipher suite ${unknown.join(", ")} not supported or doesn't exist`);
  }
  if (flags.goawayChance < 0 || flags.goawayChance > 0.02) {
    faults.push("--goaway-chance can not be less than 0 or greater than 0.02");
  }
  faults.push(...responseHeaderFaults(flags));
  if (flags.http2MaxStreamsPerConnection < 0) {
    faults.push(
      `--http2-max-streams-per-connection ${flags.http2MaxStreamsPerConnection} can not be negative`,
    );
  }
  if (flags.shutdownDelaySeconds < 0) {
    faults.push("--shutdown-delay-duration can not be negative value");
  }
  if (flags.requestTimeoutSeconds < 0) {
    faults.push("--request-timeout can not be negative value");
  }
  if (flags.minRequestTimeout < 0) {
    faults.push("--min-request-timeout can not be negative value");
  }
  return faults;
}

function authorizationFaults(flags: ApiServerFlags): string[] {
  const { authorizationMode: modes, authorizationPolicyFile: policies } = flags;
  if (modes.length === 0) return ["at least one authorization-mode must be passed"];
  const faults = modes
    .filter((mode) => !AUTHORIZATION_MODES.includes(mode))
    .map((mode) => `authorization-mode ${goQuote(mode)} is not a valid mode`);
  const asked = modes.includes("ABAC");
  if (asked && policies === undefined) {
    faults.push("authorization-mode ABAC's authorization policy file not passed");
  }
  if (!asked && policies !== undefined) {
    faults.push("cannot specify --authorization-policy-file without mode ABAC");
  }
  if (new Set(modes).size < modes.length) {
    const all = modes.map(goQuote).join(" ");
    faults.push(`authorization-mode [${all}] has mode specified more than once`);
  }
  return faults;
}

function webhookFaults(flags: ApiServerFlags): string[] {
  const asked = flags.authorizationMode.includes("Webhook");
  const faults: string[] = [];
  if (asked && flags.authorizationWebhookConfigFile === undefined) {
    faults.push("authorization-mode Webhook's authorization config file not passed");
  }
  if (!asked && flags.authorizationWebhookConfigFile !== undefined) {
    faults.push("cannot specify --authorization-webhook-config-file without mode Webhook");
  }
  const versions = {
    authorization: flags.authorizationWebhookVersion,
    authentication: flags.authenticationTokenWebhookVersion,
  };
  for (const [of, version] of Object.entries(versions)) {
    if (WEBHOOK_VERSIONS.includes(version)) continue;
    faults.push(
      `unsupported ${of} webhook version ${goQuote(version)}, supported versions are "v1", "v1beta1"`,
    );
  }
  return faults;
}

function admissionFaults(flags: ApiServerFlags): string[] {
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = flags;
  const both = enabled.filter((name) => disabled.includes(name)).sort();
  if (both.length === 0) return [];
  return [
    `[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`,
  ];
}

function tokenFaults(flags: ApiServerFlags): string[] {
  const { serviceAccountIssuer: issuers, serviceAccountJwksUri: keysUrl } = flags;
  const { serviceAccountMaxTokenExpiration: seconds } = flags;
  const faults: string[] = [];
  issuers.forEach((issuer, at) => {
    const quoted = goQuote(issuer);
    if (issuer.includes(":") && !URL.canParse(issuer)) {
      faults.push(`service-account-issuer ${quoted} contained a ':' but was not a valid URL`);
    } else if (issuers.indexOf(issuer) < at) {
      faults.push(`service-account-issuer ${quoted} is already specified`);
    }
  });
  if (keysUrl !== undefined && !URL.canParse(keysUrl)) {
    faults.push("service-account-jwks-uri must be a valid URL");
  } else if (keysUrl !== undefined && !keysUrl.startsWith("https:")) {
    faults.push(`service-account-jwks-uri requires https scheme, parsed as: ${keysUrl}`);
  }
  if (seconds !== 0 && (seconds < TOKEN_SECONDS.min || seconds > TOKEN_SECONDS.max)) {
    faults.push("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds");
  }
  return faults;
}

function oidcFaults(flags: ApiServerFlags): string[] {
  const { oidcIssuerUrl: url, oidcClientId: client } = flags;
  const others = [flags.oidcGroupsClaim, flags.oidcCaFile, flags.oidcUsernamePrefix];
  const wanted = [url, client, ...others].some((value) => value !== undefined);
  if (wanted && (url === undefined || client === undefined)) {
    return [
      "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    ];
  }
  return url === undefined || (URL.canParse(url) && url.startsWith("https:"))
    ? []
    : [`oidc-issuer-url ${goQuote(url)} must be a URL with the https scheme`];
}

function rangeFaults(ranges: readonly string[]): string[] {
  const cidrs = ranges.map(parseCidr);
  if (ranges.length > 2) {
    return ["--service-cluster-ip-range must not contain more than two entries"];
  }
  if (cidrs[0] === undefined) return ["service-cluster-ip-range[0] is not a valid cidr"];
  if (ranges.length === 2 && cidrs[1] === undefined) {
    return ["service-cluster-ip-range[1] is not an ip net"];
  }
  const { address, prefixBits } = cidrs[0];
  if (2 ** (address.bytes.length * 8 - prefixBits) < ADDRESSES_MIN) {
    return [
      `error determining service IP ranges for primary service cidr: the service cluster IP range must be at least ${ADDRESSES_MIN} IP addresses`,
    ];
  }
  return cidrs[1]?.address.bytes.length === address.bytes.length
    ? [
        "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
      ]
    : [];
}

function auditFaults(flags: ApiServerFlags): string[] {
  const { auditLogFormat: format, auditLogMode: mode } = flags;
  const negative = Object.entries({
    "--audit-log-maxage": flags.auditLogMaxage,
    "--audit-log-maxbackup": flags.auditLogMaxbackup,
    "--audit-log-maxsize": flags.auditLogMaxsize,
  })
    .filter(([, value]) => value < 0)
    .map(([name, value]) => `${name} ${value} can't be a negative number`);
  const faults = [...negative];
  if (!AUDIT_MODES.includes(mode)) {
    faults.push(`invalid audit log mode ${mode}, allowed modes are ${AUDIT_MODES.join(",")}`);
  }
  if (!AUDIT_MODES.includes(flags.auditWebhookMode)) {
    const allowed = AUDIT_MODES.join(",");
    faults.push(
      `invalid audit webhook mode ${flags.auditWebhookMode}, allowed modes are ${allowed}`,
    );
  }
  for (const [name, value] of [
    ["max-size", flags.auditWebhookBatchMaxSize],
    ["buffer-size", flags.auditWebhookBatchBufferSize],
  ] as const) {
    if (value <= 0) faults.push(`--audit-webhook-batch-${name} ${value} must be greater than 0`);
  }
  if (!AUDIT_FORMATS.includes(format)) {
    const allowed = AUDIT_FORMATS.join(",");
    faults.push(`invalid audit log format ${format}, allowed formats are ${allowed}`);
  }
  return faults;
}

const GROUPS: ReadonlySet<string> = new Set(builtInKinds.map(({ group }) => group));

function runtimeConfigFaults(settings: Readonly<Record<string, boolean>>): string[] {
  const keys = Object.keys(settings);
  if (keys.length === 1 && settings["api/all"] === false) {
    return ["invalid runtime-config with only api/all=false"];
  }
  const unknown = keys
    .filter((key) => !key.startsWith("api/"))
    .map((key) => key.split("/"))
    .filter((parts) => !GROUPS.has(parts.length === 1 ? "" : parts[0]!))
    .map((parts) => parts.slice(0, 2).join("/"));
  return unknown.length === 0
    ? []
    : [`unknown api groups ${[...new Set(unknown)].sort().join(",")}`];
}

function storageFaults(flags: ApiServerFlags): string[] {
  const { storageMediaType: form, etcdServers } = flags;
  const faults = etcdServers
    .filter((url) => !URL.canParse(url) || !/^https?:/.test(url))
    .map((url) => `--etcd-servers ${goQuote(url)} must be a URL with the http or https scheme`);
  if (flags.etcdPrefix !== "/registry" && etcdServers.length === 0) {
    faults.push(
      "--etcd-prefix must be set with --etcd-servers: the embedded store belongs to one cluster",
    );
  }
  if (flags.etcdServersOverrides.length > 0 && etcdServers.length === 0) {
    faults.push("--etcd-servers-overrides must be set with --etcd-servers");
  }
  if (flags.history !== undefined && etcdServers.length > 0) {
    faults.push("--history is for the embedded store; with etcd see --etcd-compaction-interval");
  }
  if (form !== "" && !STORED_FORMS.includes(form)) {
    const allowed = STORED_FORMS.join(", ");
    faults.push(`--storage-media-type ${goQuote(form)} invalid, allowed values: ${allowed}`);
  }
  if (
    flags.encryptionProviderConfigAutomaticReload &&
    flags.encryptionProviderConfig === undefined
  ) {
    faults.push(
      "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
    );
  }
  return faults;
}
