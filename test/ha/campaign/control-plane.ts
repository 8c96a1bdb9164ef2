/**
 * The control plane of the fault campaign: three etcd members, three API servers, two schedulers and two
 * controller managers, each on a machine of its own. As with kubeadm, the first scheduler and manager use the
 * first API server, the second ones the second. K8TS_KUBE_APISERVER, a kube-apiserver, takes the place of our
 * API servers.
 */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM } from "../../built-program.ts";
import { until } from "../../e2e/node/eventually.ts";
import { startMachines, type TestMachine, type TestMachines } from "../machines.ts";
import { keyFlags, makeSharedKeys } from "../shared-keys.ts";
import type { Elected } from "./check-leaders.ts";
import { Part } from "./part.ts";

export interface ControlPlane extends AsyncDisposable {
  readonly machines: TestMachines;
  readonly etcd: readonly Part[];
  readonly apiServers: readonly Part[];
  readonly schedulers: readonly Part[];
  readonly managers: readonly Part[];
  /** Where the load runs. */
  readonly client: TestMachine;
  readonly ca: string;
  readonly token: string;
  readonly folder: string;
  /** Managers and schedulers by their addresses. */
  readonly elected: ReadonlyMap<string, Elected>;
  /** Resolves when this API server says that it is ready. */
  untilReady(apiServer: Part): Promise<void>;
  auditLogs(): string[];
  /** Sets the wall clock of one machine's program: an offset such as "+120s". */
  setClock(part: Part, offset: string): void;
}

export interface ControlPlaneOptions {
  /** Of leader election: lease duration, renew deadline and retry period. */
  readonly leaseSeconds: readonly [number, number, number];
  /** Undefined: ours. */
  readonly kubeApiServer?: string | undefined;
}

const TOKEN = "campaign";
const PORT = 6443;
const DISK_MB = 512;
const LONG = { timeoutMs: 90_000, everyMs: 50 };
const FAKE_TIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** Writes of controllers and schedulers, with their answers. */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  users: [system:kube-controller-manager, system:kube-scheduler]
  verbs: [create, update, patch, delete]
- level: RequestResponse
  userGroups: [system:serviceaccounts:kube-system]
  verbs: [create, update, patch, delete]
- level: None
`;

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const names = ["e1", "e2", "e3", "a1", "a2", "a3", "s1", "s2", "c1", "c2", "client"];
  const machines = await startMachines(names);
  const folder = machines.dir;
  const [e, a, [s1, s2, c1, c2, client]] = [
    machines.machines.slice(0, 3),
    machines.machines.slice(3, 6),
    machines.machines.slice(6),
  ];
  writeFileSync(join(folder, "tokens.csv"), `${TOKEN},admin,1,"system:masters"\n`);
  writeFileSync(join(folder, "audit-policy.yaml"), AUDIT_POLICY);
  const addresses = a.map(({ address }) => address);
  const keys = makeSharedKeys(join(folder, "shared"), addresses, PORT);
  const etcd = await Promise.all(e.map((machine) => etcdMember(machine, e, folder)));
  const etcdServers = e.map(({ address }) => `http://${address}:2379`).join(",");
  const apiServers = a.map((machine) => apiServer(machine, etcdServers, folder, options));
  const component = (machine: TestMachine, kind: Component, at: number): Part =>
    leaderElected(machine, kind, a[at]!, folder, options);
  const schedulers = [component(s1!, "scheduler", 0), component(s2!, "scheduler", 1)];
  const managers = [
    component(c1!, "controller-manager", 0),
    component(c2!, "controller-manager", 1),
  ];
  const untilReady = async (part: Part): Promise<void> => {
    const url = `https://${part.machine.address}:${PORT}/readyz`;
    const ask = ["-sk", "--max-time", "2", "-H", `Authorization: Bearer ${TOKEN}`, url];
    await until(async () => (await client!.tryRun("curl", ...ask)).stdout === "ok", LONG).catch(
      () => {
        throw new Error(`${part.name} is not ready: ${part.log().slice(-3_000)}`);
      },
    );
  };
  const plane: ControlPlane = {
    ...{ machines, etcd, apiServers, schedulers, managers, client: client!, folder, untilReady },
    ...{ ca: keys.clientCaPem, token: TOKEN },
    elected: new Map([
      ...managers.map((part) => electedBy(part, "kube-controller-manager")),
      ...schedulers.map((part) => electedBy(part, "kube-scheduler")),
    ]),
    auditLogs: () =>
      a
        .map(({ name }) => auditFile(folder, name))
        .filter(existsSync)
        .map(readText),
    setClock: (part, offset) => writeFileSync(clockFile(folder, part.name), `${offset}\n`),
    [Symbol.asyncDispose]: () => machines[Symbol.asyncDispose](),
  };
  try {
    await Promise.all(etcd.map((part) => part.start()));
    // The first one makes what is in every cluster; the others find it.
    for (const part of apiServers) {
      await part.start();
      await untilReady(part);
    }
    await Promise.all([...managers, ...schedulers].map((part) => part.start()));
  } catch (error) {
    await machines[Symbol.asyncDispose]();
    throw error;
  }
  return plane;
}

/** Its data is on a small disk of its own, in memory, so that the disk can be full. */
async function etcdMember(
  machine: TestMachine,
  all: readonly TestMachine[],
  folder: string,
): Promise<Part> {
  const { name, address, data } = machine;
  const disk = `mkdir -p ${data} && mount -t tmpfs -o size=${DISK_MB}m tmpfs ${data}`;
  await machine.run("sh", "-c", disk);
  const cluster = all.map((one) => `${one.name}=http://${one.address}:2380`).join(",");
  const command: [string, ...string[]] = [
    ...(["etcd", "--name", name, "--data-dir", `${data}/etcd`] as [string, ...string[]]),
    ...["--listen-client-urls", `http://0.0.0.0:2379`],
    ...["--advertise-client-urls", `http://${address}:2379`],
    ...["--listen-peer-urls", `http://${address}:2380`],
    ...["--initial-advertise-peer-urls", `http://${address}:2380`],
    ...["--initial-cluster", cluster, "--initial-cluster-state", "new"],
    // A full disk is noticed with the next snapshot, after so many writes.
    ...["--snapshot-count", "500", "--log-level", "warn"],
  ];
  return new Part({ machine, folder, command });
}

function apiServer(
  machine: TestMachine,
  etcdServers: string,
  folder: string,
  { kubeApiServer }: ControlPlaneOptions,
): Part {
  const { name, address, data } = machine;
  const common = [
    ...[`--etcd-servers=${etcdServers}`, `--secure-port=${PORT}`, "--bind-address=0.0.0.0"],
    ...[`--advertise-address=${address}`, "--service-cluster-ip-range=10.96.0.0/16"],
    ...[`--token-auth-file=${folder}/tokens.csv`, "--authorization-mode=Node,RBAC"],
    `--audit-policy-file=${folder}/audit-policy.yaml`,
    `--audit-log-path=${auditFile(folder, name)}`,
  ];
  if (kubeApiServer !== undefined) {
    const command: [string, ...string[]] = [
      kubeApiServer,
      ...common,
      ...keyFlags(join(folder, "shared")),
    ];
    return new Part({ machine, folder, command });
  }
  cpSync(join(folder, "shared", "pki"), join(data, "pki"), { recursive: true });
  const command: [string, ...string[]] = [process.execPath, PROGRAM, "apiserver"];
  command.push(`--data-dir=${data}`, ...common);
  return new Part({ machine, folder, command, env: clockEnv(folder, name) });
}

function electedBy({ machine, name }: Part, lease: string): [string, Elected] {
  return [machine.address, { machine: name, lease }];
}

type Component = "scheduler" | "controller-manager";

function leaderElected(
  machine: TestMachine,
  kind: Component,
  server: TestMachine,
  folder: string,
  { leaseSeconds: [lease, renew, retry] }: ControlPlaneOptions,
): Part {
  const shared = readText(join(folder, "shared", `${kind}.kubeconfig`));
  const kubeconfig = join(folder, `${machine.name}.kubeconfig`);
  const url = `https://${server.address}:${PORT}`;
  writeFileSync(kubeconfig, shared.replace(/server: .*/, `server: ${url}`));
  const command: [string, ...string[]] = [process.execPath, PROGRAM, kind];
  command.push(`--kubeconfig=${kubeconfig}`, "--leader-elect=true", "--bind-address=127.0.0.1");
  command.push(`--leader-elect-lease-duration=${lease}s`);
  command.push(`--leader-elect-renew-deadline=${renew}s`);
  command.push(`--leader-elect-retry-period=${retry}s`);
  if (kind === "controller-manager") {
    const pki = (name: string): string => join(folder, "shared", "pki", name);
    command.push(`--service-account-private-key-file=${pki("sa.key")}`);
    command.push(`--root-ca-file=${pki("ca.crt")}`);
  }
  return new Part({ machine, folder, command, env: clockEnv(folder, machine.name) });
}

/** The program's wall clock follows a file. Its monotonic clock stays as it is, as with a wrong clock. */
function clockEnv(folder: string, name: string): Record<string, string> {
  writeFileSync(clockFile(folder, name), "+0\n");
  if (!existsSync(FAKE_TIME)) return {};
  return {
    LD_PRELOAD: FAKE_TIME,
    FAKETIME_TIMESTAMP_FILE: clockFile(folder, name),
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  };
}

function clockFile(folder: string, name: string): string {
  return join(folder, `${name}.clock`);
}

function auditFile(folder: string, name: string): string {
  return join(folder, `${name}.audit`);
}

function readText(path: string): string {
  return readFileSync(path, "utf8");
}
