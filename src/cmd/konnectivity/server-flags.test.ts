import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { FlagError, parseArguments } from "../flags/parse-flags.ts";
import { agentConfigOf, agentFlags } from "./konnectivity-agent.ts";
import { type ServerConfig, serverConfigOf, serverFlags } from "./server-flags.ts";

const folder = mkdtempSync(join(tmpdir(), "konnectivity-"));
const file = join(folder, "file.pem");
writeFileSync(file, "PEM");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configOf(...args: string[]): ServerConfig {
  return serverConfigOf(parseArguments(serverFlags(), args).opts());
}

const UDS = ["--uds-name", "/run/x.sock", "--server-port", "0"];
const CLUSTER = ["--cluster-cert", file, "--cluster-key", file];
const TOKEN = ["--agent-namespace", "a", "--agent-service-account", "b"];
const AUDIENCE = ["--authentication-audience", "c"];

const refused: readonly (readonly [string, readonly string[]])[] = [
  [
    "--cluster-ca-cert can not be used when agent authentication is enabled",
    [...UDS, ...CLUSTER, "--cluster-ca-cert", file, ...TOKEN, ...AUDIENCE],
  ],
  [
    "--authentication-audience cannot be empty when agent authentication is enabled",
    [...UDS, ...CLUSTER, ...TOKEN],
  ],
  [
    "--agent-namespace cannot be empty when agent authentication is enabled",
    [...UDS, ...CLUSTER, ...AUDIENCE],
  ],
  [
    "--cluster-cert cannot be empty when agent authentication is enabled",
    [...UDS, ...TOKEN, ...AUDIENCE],
  ],
  ["server ca cert must be set when in TCP mode (uds-name is empty)", []],
  ["server port should be set to 0 not 8090 for UDS", ["--uds-name", "/run/x.sock"]],
  ["server key should not be set for UDS", [...UDS, "--server-cert", file, "--server-key", file]],
  [`cannot have cluster key empty when cluster cert is set to "${file}"`, ["--cluster-cert", file]],
  [
    "error checking server key /none, got stat /none: no such file or directory",
    ["--server-key", "/none"],
  ],
  [`mode must be set to either 'grpc' or 'http-connect' not "x"`, ["--mode", "x"]],
  [
    "please do not try to use ephemeral port 50000 for the agent port",
    [...UDS, "--agent-port", "50000"],
  ],
  [
    "please do not try to use reserved port 80 for the health port",
    [...UDS, "--health-port", "80"],
  ],
  [
    "invalid proxy strategies: unknown proxy strategy: nearest",
    [...UDS, "--proxy-strategies", "destHost,nearest"],
  ],
];

/** Of proxy-server and proxy-agent; those of klog are the same. */
const KLOG = `add-dir-header alsologtostderr log-backtrace-at log-dir log-file log-file-max-size
logtostderr one-output skip-headers skip-log-headers stderrthreshold v vmodule`;
const UPSTREAM_SERVER = `admin-bind-address admin-port agent-bind-address agent-namespace agent-port
agent-service-account authentication-audience backend-dial-timeout cipher-suites cluster-ca-cert
cluster-cert cluster-key delete-existing-uds-file enable-contention-profiling enable-lease-controller
enable-profiling frontend-keepalive-time graceful-shutdown-timeout health-bind-address health-port
keepalive-time kube-api-content-type kubeconfig kubeconfig-burst kubeconfig-qps lease-label
lease-namespace mode proxy-strategies server-bind-address server-ca-cert server-cert server-count
server-id server-key server-port tls-min-version uds-name xfr-channel-size ${KLOG}`;
const UPSTREAM_AGENT = `admin-bind-address admin-server-port agent-cert agent-id agent-identifiers
agent-key alpn-proto ca-cert count-server-leases enable-contention-profiling enable-profiling
health-server-host health-server-port keepalive-time kube-api-content-type kubeconfig
lease-label-selector lease-namespace probe-interval proxy-server-host proxy-server-port
server-count-source service-account-token-path sync-forever sync-interval sync-interval-cap
warn-on-channel-limit xfr-channel-size ${KLOG}`;

test.each([
  ["konnectivity-server", serverFlags(), UPSTREAM_SERVER],
  ["konnectivity-agent", agentFlags(), UPSTREAM_AGENT],
])("%s: every flag of upstream's program is known", (_name, parser, upstream) => {
  const known = new Set(parser.options.map(({ long }) => long?.replace(/^--/, "")));
  assert.deepEqual(
    upstream.split(/\s+/).filter((flag) => !known.has(flag)),
    [],
  );
});

test("konnectivity-agent: flags of upstream's manifest; leases of servers are refused", () => {
  const agent = (...args: string[]) => agentConfigOf(parseArguments(agentFlags(), args).opts());
  const { withoutEffect, servers } = agent("--logtostderr=true", "--sync-forever");
  assert.deepEqual(withoutEffect, ["--logtostderr"]);
  assert.equal(servers.syncForever, true);
  assert.throws(() => agent("--count-server-leases=true"), {
    message: '--count-server-leases: "true" is not supported',
  });
});

describe("konnectivity-server flags", () => {
  test("flags of upstream's manifest are accepted and reported; leases of servers are refused", () => {
    assert.deepEqual(configOf(...UDS, "--logtostderr=true").withoutEffect, ["--logtostderr"]);
    assert.throws(() => configOf(...UDS, "--enable-lease-controller=true"), {
      message: '--enable-lease-controller: "true" is not supported',
    });
  });

  test.each(refused)("refused: %s", (message, args) => {
    assert.throws(
      () => configOf(...args),
      (error) => {
        assert.ok(error instanceof FlagError, String(error));
        assert.equal(error.message, message);
        return true;
      },
    );
  });

  test("a unix socket; its existing file is replaced unless --delete-existing-uds-file=false", () => {
    const { frontends, agents } = configOf(...UDS);
    assert.deepEqual(frontends, { path: "/run/x.sock", keepsExisting: false });
    assert.deepEqual(agents, { host: "::", port: 8091, tls: undefined });
    const kept = configOf(...UDS, "--delete-existing-uds-file=false");
    assert.deepEqual(kept.frontends, { path: "/run/x.sock", keepsExisting: true });
  });

  test("--cluster-ca-cert without agent authentication: agents show a certificate", () => {
    const { agents } = configOf(...UDS, ...CLUSTER, "--cluster-ca-cert", file);
    assert.deepEqual(agents, {
      ...{ host: "::", port: 8091 },
      tls: { cert: "PEM", key: "PEM", ca: "PEM" },
    });
  });
});
