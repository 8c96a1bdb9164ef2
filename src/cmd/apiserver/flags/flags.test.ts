import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { FlagError } from "../../flags/parse-flags.ts";
import { parseFlags } from "./flags.ts";
import { tlsLimitsOf } from "./tls-flags.ts";

const refused: { args: string[]; says: string }[] = [
  {
    args: ["--authorization-config=/x", "--authorization-mode=RBAC"],
    says: "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
  },
  {
    args: ["--authorization-mode=RBAC,Webhook"],
    says: "authorization-mode Webhook's authorization config file not passed",
  },
  {
    args: ["--authorization-webhook-config-file=/x"],
    says: "cannot specify --authorization-webhook-config-file without mode Webhook",
  },
  {
    args: ["--authentication-token-webhook-version=v2"],
    says: 'unsupported authentication webhook version "v2", supported versions are "v1", "v1beta1"',
  },
  {
    args: ["--encryption-provider-config-automatic-reload"],
    says: "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
  },
  {
    args: ["--ssh-user=core"],
    says: "--ssh-user and --ssh-keyfile must be specified together",
  },
  {
    args: ["--ssh-user=core", "--ssh-keyfile=/x", "--egress-selector-config-file=/y"],
    says: "--ssh-user and --egress-selector-config-file cannot be used together",
  },
  {
    args: ["--goaway-chance=0.5"],
    says: "--goaway-chance can not be less than 0 or greater than 0.02",
  },
  {
    args: ["--cors-allowed-origins=example.com"],
    says: "--cors-allowed-origins has an invalid regular expression: regular expression does not pin to start/end of host in the origin header",
  },
  {
    args: ["--strict-transport-security-directives=maxage"],
    says: "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information",
  },
  {
    args: ["--history=24h", "--etcd-servers=http://127.0.0.1:2379"],
    says: "--history is for the embedded store; with etcd see --etcd-compaction-interval",
  },
  {
    args: ["--etcd-prefix=/other"],
    says: "--etcd-prefix must be set with --etcd-servers: the embedded store belongs to one cluster",
  },
  {
    args: ["--watch-cache=false"],
    says: '--watch-cache cannot be "false": reads are always served from it',
  },
  {
    args: ["--tls-min-version=VersionTLS11"],
    says: '--tls-min-version cannot be "VersionTLS11": TLS 1.2 is the oldest that is spoken',
  },
  { args: ["--tls-min-version=1.3"], says: 'unknown tls version "1.3"' },
  {
    args: ["--tls-cipher-suites=TLS_NOPE"],
    says: "Cipher suite TLS_NOPE not supported or doesn't exist",
  },
  {
    args: ["--tls-curve-preferences=29,29"],
    says: 'invalid argument "29,29" for "--tls-curve-preferences" flag: duplicate curve preference 29',
  },
  {
    args: ["--tls-curve-preferences=0"],
    says: 'invalid argument "0" for "--tls-curve-preferences" flag: curve preference 0 is out of range (must be 1-65535)',
  },
  { args: ["--request-timeout=-1s"], says: "--request-timeout can not be negative value" },
  {
    args: ["--secure-prot=1"],
    says: "unknown flag: --secure-prot (did you mean --secure-port?)",
  },
  { args: ["--feature-gates=Some=true"], says: "unrecognized feature gate: Some" },
  { args: ["--feature-gates=kube:AllAlpha"], says: "missing bool value for AllAlpha" },
  {
    args: ["--feature-gates=AllAlpha=maybe,Other=true"],
    says: '[invalid value of AllAlpha=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax, unrecognized feature gate: Other]',
  },
  { args: ["--runtime-config=app/v1=true"], says: "unknown api groups app/v1" },
  {
    args: ["--runtime-config=api/all=false"],
    says: "invalid runtime-config with only api/all=false",
  },
  { args: ["--nonsense"], says: "unknown flag: --nonsense" },
  { args: ["--nonsense=1"], says: "unknown flag: --nonsense" },
  { args: ["-x"], says: "unknown shorthand flag: 'x' in -x" },
  { args: ["--secure-port"], says: "flag needs an argument: --secure-port" },
  { args: ["word"], says: '"k8ts apiserver" does not take any arguments, got ["word"]' },
  {
    args: ["--secure-port=https"],
    says: 'invalid argument "https" for "--secure-port" flag: strconv.ParseInt: parsing "https": invalid syntax',
  },
  {
    args: ["--secure-port=70000"],
    says: "--secure-port 70000 must be between 0 and 65535, inclusive",
  },
  {
    args: ["--bind-address=localhost"],
    says: 'invalid argument "localhost" for "--bind-address" flag: failed to parse IP: "localhost"',
  },
  {
    args: ["--anonymous-auth=maybe"],
    says: 'invalid argument "maybe" for "--anonymous-auth" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
  },
  {
    args: ["--event-ttl=soon"],
    says: 'invalid argument "soon" for "--event-ttl" flag: time: invalid duration "soon"',
  },
  {
    args: ["--service-node-port-range=9-1"],
    says: 'invalid argument "9-1" for "--service-node-port-range" flag: end port cannot be less than start port: 9-1',
  },
  {
    args: ["--authorization-mode=Magic"],
    says: 'authorization-mode "Magic" is not a valid mode',
  },
  {
    args: ["--authorization-mode=RBAC,RBAC"],
    says: 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
  },
  { args: ["--authorization-mode="], says: "at least one authorization-mode must be passed" },
  {
    args: ["--service-cluster-ip-range=10.0.0.0"],
    says: "service-cluster-ip-range[0] is not a valid cidr",
  },
  {
    args: ["--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24"],
    says: "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
  },
  {
    args: ["--service-cluster-ip-range=10.0.0.0/30"],
    says: "error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses",
  },
  {
    args: ["--oidc-client-id=me"],
    says: "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
  },
  {
    args: ["--service-account-issuer=a", "--service-account-issuer=a"],
    says: 'service-account-issuer "a" is already specified',
  },
  {
    args: ["--service-account-jwks-uri=http://x"],
    says: "service-account-jwks-uri requires https scheme, parsed as: http://x",
  },
  {
    args: ["--service-account-max-token-expiration=5m"],
    says: "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
  },
  {
    args: [
      "--enable-admission-plugins=PodSecurity",
      "--disable-admission-plugins=PodSecurity,Priority",
    ],
    says: "[PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped",
  },
  {
    args: ["--storage-media-type=text/plain"],
    says: '--storage-media-type "text/plain" invalid, allowed values: application/json, application/vnd.kubernetes.protobuf',
  },
  {
    args: ["--tls-sni-cert-key=a.crt"],
    says: 'invalid argument "a.crt" for "--tls-sni-cert-key" flag: expected comma separated certificate and key file paths',
  },
  {
    args: ["--tls-sni-cert-key=a.crt,b.key:"],
    says: 'invalid argument "a.crt,b.key:" for "--tls-sni-cert-key" flag: empty names list is not allowed',
  },
  {
    args: ["--tls-sni-cert-key=a.crt,b.key:10.0.0.1"],
    says: 'invalid argument "a.crt,b.key:10.0.0.1" for "--tls-sni-cert-key" flag: certificates are chosen by host names only, and 10.0.0.1 is an address',
  },
  {
    args: ["--authorization-mode=RBAC,ABAC"],
    says: "authorization-mode ABAC's authorization policy file not passed",
  },
  {
    args: ["--authorization-policy-file=p"],
    says: "cannot specify --authorization-policy-file without mode ABAC",
  },
  { args: ["--runtime-config=api/all=perhaps"], says: "invalid value api/all=perhaps" },
  {
    args: ["--logging-format=xml"],
    says: 'format: Invalid value: "xml": Unsupported log format',
  },
  {
    args: ["--audit-log-maxage=-1", "--max-requests-inflight=-1"],
    says: "[--max-requests-inflight can not be negative value, --audit-log-maxage -1 can't be a negative number]",
  },
];

describe("kube-apiserver flags that cannot be used are refused", () => {
  test.each(refused)("$args", ({ args, says }) => {
    assert.throws(() => parseFlags(args), new FlagError(says));
  });
});

test("--tls-curve-preferences, --etcd-compaction-interval and --kubelet-timeout take effect", () => {
  const flags = parseFlags([
    "--tls-curve-preferences=24,29",
    "--etcd-compaction-interval=0",
    "--kubelet-timeout=7s",
  ]);
  assert.deepEqual(tlsLimitsOf(flags), { ecdhCurve: "P-384:X25519" });
  assert.equal(flags.etcdCompactionInterval, 0);
  assert.equal(flags.kubeletTimeout, 7);
  assert.deepEqual(flags.withoutEffect, []);
});

test("kube-apiserver flags are read as upstream reads them", () => {
  const flags = parseFlags([
    "--secure-port=0",
    "--anonymous-auth=f",
    "--allow-privileged",
    "--event-ttl=1h30m",
    "--service-node-port-range=30000+10",
    "--runtime-config=api/beta,apps/v1=false",
    "--etcd-servers=http://a:1,http://b:2",
    "--v=4",
  ]);
  assert.deepEqual(
    [flags.securePort, flags.anonymousAuth, flags.allowPrivileged, flags.eventTtlSeconds],
    [0, false, true, 5400],
  );
  assert.deepEqual(flags.serviceNodePortRange, { first: 30_000, last: 30_010 });
  assert.deepEqual(flags.runtimeConfig, { "api/beta": true, "apps/v1": false });
  assert.deepEqual(flags.etcdServers, ["http://a:1", "http://b:2"]);
  assert.equal(flags.logLevel, "debug");
});

test("kube-apiserver flags of a kubeadm manifest are accepted; those without effect are reported", () => {
  const flags = parseFlags([
    "--profiling=false",
    "--feature-gates=AllAlpha=false",
    ...["--proxy-client-cert-file=/p.crt", "--proxy-client-key-file=/p.key"],
    ...["--storage-backend=etcd3", "--service-account-lookup"],
    ...["--tls-min-version=VersionTLS13", "--shutdown-delay-duration=5s"],
    "--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA",
    ...["--http2-max-streams-per-connection=100", "--disable-http2-serving"],
  ]);
  assert.deepEqual(flags.withoutEffect, ["--feature-gates"]);
  assert.deepEqual(
    [flags.shutdownDelaySeconds, flags.http2MaxStreamsPerConnection, flags.disableHttp2Serving],
    [5, 100, true],
  );
  assert.deepEqual(tlsLimitsOf(flags), {
    minVersion: "TLSv1.3",
    ciphers:
      "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:" +
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305:AES128-SHA",
  });
});

test("feature gates that can be switched: those that are on, AllBeta included", () => {
  const gates = (value: string) => {
    const { features, withoutEffect } = parseFlags([`--feature-gates=${value}`]);
    return { features, withoutEffect };
  };
  assert.deepEqual(gates("PodCertificateRequest=true,ClusterTrustBundle=false"), {
    features: ["PodCertificateRequest"],
    withoutEffect: [],
  });
  assert.deepEqual(gates("AllBeta=true,ClusterTrustBundle=false"), {
    features: ["ClusterTrustBundleProjection", "PodCertificateRequest", "StorageVersionMigrator"],
    withoutEffect: ["--feature-gates"],
  });
});
