/** What flags `k8ts apiserver` takes, in the order of its help. */
import { posix } from "node:path";
import { Command as Parser } from "commander";
import { type HistoryPolicy, parseHistory } from "#store/history-policy.ts";
import {
  address,
  collect,
  each,
  flag,
  fraction,
  integer,
  list,
  ports,
  seconds,
  settings,
  showDefaultsAsTyped,
} from "../../flags/flag-values.ts";
import { addLogFlags } from "../../flags/log-flags.ts";
import { addVersionFlag, badValue } from "../../flags/parse-flags.ts";
import { etcdOverrides } from "./etcd-overrides-flag.ts";
import { certificateByName } from "./named-certificate-flag.ts";
import { addOtherFlags } from "./other-flags.ts";
import { curves } from "./tls-flags.ts";

function history(value: string): HistoryPolicy {
  const parsed = parseHistory(value);
  if (!parsed.ok) throw badValue(parsed.message);
  return parsed.policy;
}

export function flagParser(): Parser {
  const command = new Parser("k8ts apiserver")
    .description("Runs the API server.")
    .option("--data-dir <dir>", "where the embedded store and the keys are kept", "k8ts-data")
    .option(
      "--new-cluster [bool]",
      "begin anew where the store of a cluster is missing or damaged; what is left is moved aside",
      flag,
      false,
    );
  addLogFlags(command);
  addServing(command);
  addStorage(command);
  addSecurity(command);
  addCluster(command);
  addWebhooks(command);
  addOtherFlags(command);
  return showDefaultsAsTyped(addVersionFlag(command));
}

function addServing(command: Parser): void {
  command
    .option("--secure-port <port>", "port of HTTPS", integer, 6443)
    .option("--bind-address <ip>", "address to listen on", address, "0.0.0.0")
    .option(
      "--advertise-address <ip>",
      "address published to other members; detected unless given",
      address,
    )
    .option("--external-hostname <name>", "host name published to clients")
    .option(
      "--tls-san <names>",
      "more names and addresses of the server, for the certificate that is made",
      collect,
      [],
    )
    .option("--tls-cert-file <file>", "certificate of the server; made unless given")
    .option("--tls-private-key-file <file>", "its key")
    .option(
      "--tls-sni-cert-key <cert,key[:names]>",
      "another certificate for clients that ask for one of its names; may be given several times",
      certificateByName,
      [],
    )
    .option("--tls-min-version <version>", "VersionTLS12 or VersionTLS13; 1.2 unless given")
    .option("--tls-cipher-suites <names>", "ciphers up to TLS 1.2; Node's unless given", list, [])
    .option(
      "--tls-curve-preferences <numbers>",
      "curves by their numbers in TLS (23, 24, 25: P-256, P-384, P-521; 29: X25519); Node's unless given",
      curves,
      [],
    )
    .option(
      "--http2-max-streams-per-connection <n>",
      "requests at a time on one connection; 0 is 250",
      integer,
      0,
    )
    .option(
      "--goaway-chance <fraction>",
      "how likely a request over HTTP/2 makes its client connect again (0 to 0.02)",
      fraction,
      0,
    )
    .option(
      "--cors-allowed-origins <patterns>",
      "regular expressions of origins whose pages may use the API",
      collect,
      [],
    )
    .option(
      "--strict-transport-security-directives <directives>",
      "of the header Strict-Transport-Security; it is not sent unless given",
      collect,
      [],
    )
    .option("--profiling [bool]", "whether /debug/pprof/ serves profiles", flag, true)
    .option("--disable-http2-serving [bool]", "whether only HTTP/1.1 is spoken", flag, false)
    .option(
      "--shutdown-delay-duration <duration>",
      "time to go on, and to say that it is not ready, before the server ends",
      seconds,
      0,
    )
    .option("--request-timeout <duration>", "time that a request has", seconds, 60)
    .option("--min-request-timeout <seconds>", "time after which watches end", integer, 1800)
    .option("--max-requests-inflight <n>", "reading requests at a time", integer, 400)
    .option("--max-mutating-requests-inflight <n>", "writing requests at a time", integer, 200)
    .option(
      "--egress-selector-config-file <file>",
      "how the cluster is reached: directly or through a Konnectivity tunnel",
    )
    .option("--ssh-user <name>", "reach the nodes through SSH tunnels as this user (deprecated)")
    .option(
      "--ssh-keyfile <file>",
      "the key of that user; made unless FILE.pub exists (deprecated)",
    )
    .option("--tracing-config-file <file>", "which collector is sent traces (OTLP), and how many")
    .option("--audit-log-path <file>", "audit log; - is the standard output")
    .option("--audit-policy-file <file>", "audit policy: what is logged")
    .option("--audit-log-maxsize <megabytes>", "size at which it is put aside", integer, 100)
    .option("--audit-log-maxbackup <n>", "old ones to keep; 0 keeps all", integer, 0)
    .option("--audit-log-maxage <days>", "days to keep them; 0 is for ever", integer, 0)
    .option("--audit-log-compress [bool]", "whether old ones are compressed", flag, false)
    .option("--audit-log-format <format>", "json", "json")
    .option("--audit-log-mode <mode>", "blocking, blocking-strict or batch: all alike", "blocking")
    .option("--audit-log-truncate-enabled [bool]", "whether long events are cut", flag, false)
    .option("--audit-log-truncate-max-event-size <bytes>", "how long is long", integer, 102_400)
    .option(
      "--enable-priority-and-fairness [bool]",
      "whether users share the server fairly",
      flag,
      true,
    );
}

function addStorage(command: Parser): void {
  command
    .option(
      "--history <policy>",
      "how much history the embedded store keeps: an age, a size or both, as 24h, 10GiB or 24h,10GiB; 5m of moderate size unless given",
      history,
    )
    .option(
      "--etcd-servers <urls>",
      "members of an etcd cluster, instead of the embedded store",
      list,
      [],
    )
    .option(
      "--etcd-servers-overrides <overrides>",
      "other etcd clusters for single resources: group/resource#url;url,…",
      etcdOverrides,
      [],
    )
    .option("--etcd-prefix <path>", "below which all keys lie", keyPrefix, "/registry")
    .option("--etcd-cafile <file>", "authority of their certificates")
    .option("--etcd-certfile <file>", "certificate to show them")
    .option("--etcd-keyfile <file>", "its key")
    .option(
      "--etcd-compaction-interval <duration>",
      "how much history an etcd keeps; 0s leaves that to others",
      seconds,
      300,
    )
    .option("--storage-media-type <type>", "form of stored objects; JSON in the embedded store", "")
    .option("--encryption-provider-config <file>", "which resources are encrypted at rest, and how")
    .option(
      "--encryption-provider-config-automatic-reload [bool]",
      "whether changes of that file take effect while the server runs",
      flag,
      false,
    )
    .option("--event-ttl <duration>", "how long Events are kept", seconds, 3600);
}

/** As upstream: a slash at the beginning, none at the end. */
function keyPrefix(text: string): string {
  return posix.join("/", text).replace(/\/$/, "");
}

function addSecurity(command: Parser): void {
  command
    .option("--client-ca-file <file>", "authority of client certificates; made unless given")
    .option("--requestheader-client-ca-file <file>", "authority of the front proxy")
    .option("--requestheader-allowed-names <names>", "names that it may have", list, [])
    .option("--requestheader-username-headers <names>", "headers with the user", list, [
      "X-Remote-User",
    ])
    .option("--requestheader-uid-headers <names>", "with the user's id", list)
    .option("--requestheader-group-headers <names>", "with groups", list, ["X-Remote-Group"])
    .option("--requestheader-extra-headers-prefix <names>", "with more of the user", list, [
      "X-Remote-Extra-",
    ])
    .option("--token-auth-file <file>", 'static tokens: token,user,uid,"groups"')
    .option("--authentication-config <file>", "JWT issuers, and anonymous access")
    .option("--anonymous-auth [bool]", "allow anonymous requests; on by default", flag)
    .option("--enable-bootstrap-token-auth [bool]", "whether bootstrap tokens count", flag, true)
    .option("--oidc-issuer-url <url>", "OpenID issuer whose tokens count")
    .option("--oidc-client-id <id>", "audience of such tokens")
    .option("--oidc-username-claim <claim>", "claim with the user's name; sub unless given")
    .option("--oidc-username-prefix <prefix>", "what to put before it")
    .option("--oidc-groups-claim <claim>", "claim with the groups")
    .option("--oidc-groups-prefix <prefix>", "what to put before them")
    .option("--oidc-ca-file <file>", "authority of the issuer's certificate")
    .option("--oidc-signing-algs <names>", "signatures that count; RS256 unless given", list, [])
    .option("--oidc-required-claim <claim=value>", "claim that tokens must have", each, [])
    .option(
      "--service-account-issuer <url>",
      "issuer of service account tokens; the first signs",
      collect,
      [],
    )
    .option("--service-account-key-file <file>", "keys whose tokens count", collect, [])
    .option("--service-account-signing-key-file <file>", "key that signs; made unless given")
    .option("--service-account-jwks-uri <url>", "where its keys are found, if not at this server")
    .option(
      "--service-account-max-token-expiration <duration>",
      "longest life of a token; 0s is as long as asked for",
      seconds,
      0,
    )
    .option(
      "--service-account-extend-token-expiration [bool]",
      "whether pods may use their first token longer than they asked for",
      flag,
      true,
    )
    .option("--api-audiences <names>", "audiences of the API itself", list, [])
    .option(
      "--authorization-mode <modes>",
      "Node, RBAC, Webhook, ABAC, AlwaysAllow, AlwaysDeny",
      list,
    )
    .option("--authorization-policy-file <file>", "policies of the mode ABAC")
    .option("--enable-admission-plugins <names>", "in addition to the default ones", list, [])
    .option("--disable-admission-plugins <names>", "of the default ones", list, [])
    .option("--admission-control-config-file <file>", "configuration of individual plug-ins")
    .option("--default-not-ready-toleration-seconds <n>", "of pods", integer, 300)
    .option("--default-unreachable-toleration-seconds <n>", "of pods", integer, 300)
    .option("--kubelet-certificate-authority <file>", "authority of kubelets' certificates")
    .option(
      "--kubelet-client-certificate <file>",
      "certificate to show kubelets; made unless given",
    )
    .option("--kubelet-client-key <file>", "its key")
    .option("--kubelet-timeout <duration>", "time to connect to a kubelet", seconds, 5)
    .option(
      "--proxy-client-cert-file <file>",
      "certificate to show aggregated API servers; made unless given",
    )
    .option("--proxy-client-key-file <file>", "its key");
}

function addWebhooks(command: Parser): void {
  command
    .option("--audit-webhook-config-file <file>", "kubeconfig of who is sent audit events")
    .option("--audit-webhook-mode <mode>", "batch, or blocking: each event as it comes", "batch")
    .option("--audit-webhook-batch-max-size <n>", "events at a time", integer, 400)
    .option("--audit-webhook-batch-max-wait <duration>", "until they are sent", seconds, 30)
    .option("--audit-webhook-batch-buffer-size <n>", "events that may wait", integer, 10_000)
    .option("--audit-webhook-initial-backoff <duration>", "before the first retry", seconds, 10)
    .option("--audit-webhook-truncate-enabled [bool]", "whether long events are cut", flag, false)
    .option("--audit-webhook-truncate-max-event-size <bytes>", "how long is", integer, 102_400)
    .option("--authorization-config <file>", "who decides on access; instead of the modes")
    .option("--authorization-webhook-config-file <file>", "kubeconfig of who decides on access")
    .option("--authorization-webhook-version <version>", "of what it is asked with", "v1beta1")
    .option("--authorization-webhook-cache-authorized-ttl <duration>", "yes counts", seconds, 300)
    .option("--authorization-webhook-cache-unauthorized-ttl <duration>", "no counts", seconds, 30)
    .option("--authentication-token-webhook-config-file <file>", "kubeconfig of who knows tokens")
    .option("--authentication-token-webhook-version <version>", "of the question", "v1beta1")
    .option("--authentication-token-webhook-cache-ttl <duration>", "answers count", seconds, 120);
}

function addCluster(command: Parser): void {
  command
    .option("--service-cluster-ip-range <cidrs>", "addresses of Services", list, ["10.96.0.0/12"])
    .option("--service-node-port-range <first-last>", "node ports of Services", ports, {
      first: 30_000,
      last: 32_767,
    })
    .option("--allow-privileged [bool]", "whether containers may be privileged", flag, false)
    .option("--runtime-config <settings>", "api/all=true, GROUP/VERSION=true, …", settings, {})
    .option("--kubelet-preferred-address-types <types>", "which address of a node to use", list, [
      "Hostname",
      "InternalDNS",
      "InternalIP",
      "ExternalDNS",
      "ExternalIP",
    ]);
}
