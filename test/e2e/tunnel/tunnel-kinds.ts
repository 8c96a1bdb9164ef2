/** The ways to a node that the control plane has no route to, each started on a split machine. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { writeSshdConfig } from "#tunnel/ssh/ssh-server.testing.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { until } from "../node/eventually.ts";
import {
  CONTROL_ADDRESS,
  LONG,
  NODE_ADDRESS,
  type SplitMachine,
  type Started,
} from "./split-machine.ts";

export interface OpenTunnel {
  /** Of the node's side; killed and started again by tests. */
  readonly restart: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly end: () => Promise<void>;
}

export interface TunnelKind {
  readonly name: string;
  /** Starts it, and the control plane with it. */
  open(split: SplitMachine): Promise<OpenTunnel>;
}

/** Upstream's programs take part where K8TS_UPSTREAM_BIN names their folder. They use TLS between server and agent. */
const UPSTREAM = process.env.K8TS_UPSTREAM_BIN ?? "";
const upstream = (name: string): string => join(UPSTREAM, name);
const hasUpstream =
  UPSTREAM !== "" && ["proxy-server", "proxy-agent"].every((name) => existsSync(upstream(name)));

/** Each needs another control plane, so there are few; src/tunnel tests every protocol over every transport. */
export const TUNNEL_KINDS: readonly TunnelKind[] = [
  konnectivity("HTTPConnect over a unix socket", "http-connect"),
  konnectivity("GRPC over TCP with TLS, an agent with a token", "grpc", { secured: true }),
  ...(hasUpstream
    ? [
        konnectivity("GRPC, upstream's agent", "grpc", { agent: "upstream", secured: true }),
        konnectivity("HTTPConnect, upstream's agent", "http-connect", {
          ...{ agent: "upstream", secured: true },
        }),
        konnectivity("GRPC, upstream's server", "grpc", { server: "upstream", secured: true }),
        konnectivity("HTTPConnect, upstream's server", "http-connect", {
          ...{ server: "upstream", secured: true },
        }),
      ]
    : []),
  { name: "SSH", open: openSsh },
];

interface KonnectivityOptions {
  readonly agent?: "upstream";
  readonly server?: "upstream";
  /** TLS everywhere: the API server shows a certificate, the agent a service account's token. */
  readonly secured?: boolean;
}

const SERVER_PORT = 8090;
const AGENT_PORT = 8091;
const ACCOUNT = "konnectivity-agent";
const AUDIENCE = "system:konnectivity-server";

function konnectivity(
  name: string,
  mode: "http-connect" | "grpc",
  options: KonnectivityOptions = {},
): TunnelKind {
  return {
    name: `Konnectivity, ${name}`,
    open: (split) => openKonnectivity(split, mode, options),
  };
}

async function openKonnectivity(
  split: SplitMachine,
  mode: "http-connect" | "grpc",
  { agent, server, secured = false }: KonnectivityOptions,
): Promise<OpenTunnel> {
  const { dir, onControl, onNode, k8ts } = split;
  const socket = join(dir, "konnectivity.sock");
  const pki = secured ? writeTunnelPki(join(dir, "tunnel-pki")) : undefined;
  const tokenFile = join(dir, "agent-token");
  const egress = join(dir, "egress.json");
  writeFileSync(egress, JSON.stringify(egressConfig(mode, socket, pki)));
  await split.startControlPlane("--egress-selector-config-file", egress);
  if (secured) await writeAgentToken(split, tokenFile);
  const serverArgs = [
    ...["--mode", mode, "--agent-port", String(AGENT_PORT), "--server-count", "1"],
    ...(pki === undefined
      ? ["--uds-name", socket, "--server-port", "0"]
      : ["--server-port", String(SERVER_PORT), ...pki.serverArgs]),
    ...(secured
      ? [
          ...["--agent-namespace", "kube-system", "--agent-service-account", ACCOUNT],
          ...["--authentication-audience", AUDIENCE],
          ...["--kubeconfig", join(dir, "data/kubeconfig")],
        ]
      : []),
  ];
  const serverProcess =
    server === "upstream"
      ? onControl(upstream("proxy-server"), ...serverArgs, "--delete-existing-uds-file")
      : onControl(process.execPath, ...k8ts("konnectivity-server", ...serverArgs));
  const agentArgs = [
    ...["--proxy-server-host", CONTROL_ADDRESS, "--proxy-server-port", String(AGENT_PORT)],
    ...["--sync-interval", "200ms", "--sync-interval-cap", "500ms"],
    ...(pki?.agentArgs ?? []),
    ...(secured ? ["--service-account-token-path", tokenFile] : []),
  ];
  const startAgent = (): Started =>
    agent === "upstream"
      ? onNode(upstream("proxy-agent"), ...agentArgs)
      : onNode(process.execPath, ...k8ts("konnectivity-agent", ...agentArgs));
  let agentProcess = startAgent();
  await untilReady(split, () => `${serverProcess.output()}\n${agentProcess.output()}`);
  return {
    kill: () => agentProcess.kill(),
    restart: async () => {
      agentProcess = startAgent();
    },
    end: async () => {
      await agentProcess.kill();
      await serverProcess.kill();
    },
  };
}

function egressConfig(mode: string, socket: string, pki: TunnelPki | undefined): object {
  const transport =
    pki === undefined
      ? { uds: { udsName: socket } }
      : { tcp: { url: `https://127.0.0.1:${SERVER_PORT}`, tlsConfig: pki.clientFiles } };
  const proxyProtocol = mode === "grpc" ? "GRPC" : "HTTPConnect";
  return {
    ...{ apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" },
    egressSelections: [{ name: "cluster", connection: { proxyProtocol, transport } }],
  };
}

interface TunnelPki {
  readonly serverArgs: readonly string[];
  readonly agentArgs: readonly string[];
  readonly clientFiles: object;
}

/** One authority for both sides of the server. */
function writeTunnelPki(directory: string): TunnelPki {
  mkdirSync(directory, { recursive: true });
  const nowMs = Date.now();
  const authority = openAuthority(join(directory, "ca"), "tunnel-ca", nowMs);
  const file = (name: string): string => join(directory, name);
  const issue = (name: string, purpose: "server auth" | "client auth"): void => {
    const altNames = purpose === "server auth" ? ["127.0.0.1", CONTROL_ADDRESS] : [];
    const { certificatePem, keyPem } = issueLeaf(
      authority,
      { subject: { commonName: name }, purpose, altNames },
      nowMs,
    );
    writeFileSync(file(`${name}.crt`), certificatePem);
    writeFileSync(file(`${name}.key`), keyPem, { mode: 0o600 });
  };
  issue("server", "server auth");
  issue("apiserver", "client auth");
  const ca = file("authority.pem");
  writeFileSync(ca, authority.certificatePem);
  return {
    serverArgs: [
      ...["--server-cert", file("server.crt"), "--server-key", file("server.key")],
      ...["--server-ca-cert", ca],
      ...["--cluster-cert", file("server.crt"), "--cluster-key", file("server.key")],
    ],
    agentArgs: ["--ca-cert", ca],
    clientFiles: {
      ...{ caBundle: ca, clientCert: file("apiserver.crt"), clientKey: file("apiserver.key") },
    },
  };
}

async function writeAgentToken({ kubectl, apply }: SplitMachine, file: string): Promise<void> {
  await apply({
    ...{ apiVersion: "v1", kind: "ServiceAccount" },
    metadata: { name: ACCOUNT, namespace: "kube-system" },
  });
  const token = ["create", "token", "-n", "kube-system", ACCOUNT, "--audience", AUDIENCE];
  writeFileSync(file, await kubectl(...token), { mode: 0o600 });
}

/** The control plane may reach port 22 of the node, and nothing else. */
async function openSsh(split: SplitMachine): Promise<OpenTunnel> {
  const missing = missingProgram("/usr/sbin/sshd");
  if (missing !== undefined) throw new Error(missing);
  const { dir, machine, onNode } = split;
  const keyFile = join(dir, "tunnel-key");
  const ssh = join(dir, "ssh");
  mkdirSync(ssh);
  const rules = [
    "add table inet sshonly",
    "add chain inet sshonly input { type filter hook input priority 0 ; }",
    'add rule inet sshonly input iifname "up0" ct state new tcp dport != 22 drop',
  ];
  const route = `ip netns exec control ip route replace ${NODE_ADDRESS} via 192.168.88.2`;
  const prepared = await machine.run("sh", [
    "-c",
    `mkdir -p /run/sshd && nft '${rules.join("; ")}' && ${route}`,
  ]);
  if (prepared.exitCode !== 0) throw new Error(prepared.stderr);
  const config = writeSshdConfig(ssh, `${keyFile}.authorized_keys`);
  const startSshd = (): Started => onNode("/usr/sbin/sshd", "-D", "-e", "-f", config, "-p", "22");
  let sshd = startSshd();
  const server = await split.startControlPlane("--ssh-user", "root", "--ssh-keyfile", keyFile);
  await untilReady(split, () => `${server.output()}\n${sshd.output()}`);
  const kill = async (): Promise<void> => {
    // Also the processes that serve connections.
    await machine.run("pkill", ["-KILL", "sshd"]);
  };
  return {
    kill,
    restart: async () => {
      sshd = startSshd();
    },
    end: async () => {
      await kill();
      await machine.run("sh", [
        "-c",
        "nft delete table inet sshonly; ip netns exec control ip route del 192.168.77.1",
      ]);
    },
  };
}

async function untilReady({ tryKubectl }: SplitMachine, log: () => string): Promise<void> {
  let last = "";
  const logs = async (): Promise<boolean> => {
    const { exitCode, stdout, stderr } = await tryKubectl("logs", "web");
    last = stderr;
    return exitCode === 0 && stdout !== "";
  };
  await until(logs, LONG).catch(() => {
    throw new Error(`the tunnel does not come up: ${last}\n${log()}`);
  });
}
