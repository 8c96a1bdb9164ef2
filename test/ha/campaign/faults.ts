/**
 * The faults of the campaign. Each has a beginning and an end; after its end everything is as it was.
 *
 * - kill: kill -9, and a new start at the end
 * - freeze: SIGSTOP and SIGCONT
 * - cut: no packet passes between two machines (iptables)
 * - slow disk: strace makes every fsync and fdatasync of one etcd take longer
 * - full disk: the small disk of one etcd has no byte left; etcd ends itself, and is started again at the end
 * - clock: the wall clock of one program jumps (libfaketime). etcd is not among them: Go programs read the
 *   clock without libc, and etcd measures leases and elections by the monotonic clock.
 */
import { until } from "../../e2e/node/eventually.ts";
import type { TestMachine } from "../machines.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Part } from "./part.ts";

export type FaultKind = "kill" | "freeze" | "cut" | "slow-disk" | "full-disk" | "clock";

export interface Fault {
  readonly name: string;
  readonly kind: FaultKind;
  /** Machines whose program does not work, or not with all others, meanwhile. */
  readonly touches: readonly string[];
  begin(): Promise<void>;
  end(): Promise<void>;
}

const FSYNC_DELAY_MICROS = 300_000;
const LONG = { timeoutMs: 60_000, everyMs: 50 };

export function allFaults(plane: ControlPlane): Fault[] {
  const { etcd, apiServers, schedulers, managers } = plane;
  const parts = [...etcd, ...apiServers, ...schedulers, ...managers];
  const clocks: Fault[] = [
    ...apiServers.slice(0, 1).map((part) => clockOf(plane, part, "+600s")),
    ...managers.slice(0, 1).map((part) => clockOf(plane, part, "-240s")),
    ...schedulers.slice(0, 1).map((part) => clockOf(plane, part, "+240s")),
  ];
  return [
    ...parts.map((part) => killOf(plane, part)),
    ...parts.map(freezeOf),
    ...cuts(plane),
    ...etcd.map(slowDiskOf),
    ...etcd.slice(2).map(fullDiskOf),
    ...clocks,
  ];
}

export function killOf(plane: ControlPlane, part: Part): Fault {
  return {
    ...{ kind: "kill", name: `kill -9 of ${part.name}`, touches: [part.name] },
    begin: () => part.kill(),
    end: () => startAgain(plane, part),
  };
}

export function freezeOf(part: Part): Fault {
  return {
    ...{ kind: "freeze", name: `SIGSTOP of ${part.name}`, touches: [part.name] },
    begin: () => part.signal("STOP"),
    end: () => part.signal("CONT"),
  };
}

/** Between any two parts that talk, and one part from all others. */
function cuts(plane: ControlPlane): Fault[] {
  const { client, machines } = plane;
  const machinesOf = (parts: readonly Part[]): TestMachine[] => parts.map((one) => one.machine);
  const [e, a, s, c] = [plane.etcd, plane.apiServers, plane.schedulers, plane.managers].map(
    machinesOf,
  ) as [TestMachine[], TestMachine[], TestMachine[], TestMachine[]];
  const others = (one: TestMachine): TestMachine[] =>
    machines.machines.filter((other) => other !== one);
  return [
    cutOf(plane, e[0]!, [e[1]!]),
    cutOf(plane, e[1]!, [e[2]!]),
    cutOf(plane, e[2]!, [e[0]!]),
    cutOf(plane, a[0]!, [e[0]!]),
    cutOf(plane, a[1]!, [e[1]!, e[2]!]),
    cutOf(plane, a[2]!, e),
    cutOf(plane, a[0]!, [client]),
    cutOf(plane, c[0]!, [a[0]!]),
    cutOf(plane, c[1]!, [a[1]!]),
    cutOf(plane, s[0]!, [a[0]!]),
    cutOf(plane, s[1]!, [a[1]!]),
    cutOf(plane, e[0]!, others(e[0]!), "everything"),
    cutOf(plane, a[0]!, others(a[0]!), "everything"),
  ];
}

export function cutOf(
  { machines }: ControlPlane,
  one: TestMachine,
  others: readonly TestMachine[],
  called = others.map(({ name }) => name).join(", "),
): Fault {
  return {
    ...{ kind: "cut", name: `network cut between ${one.name} and ${called}` },
    touches: [one.name, ...others.map(({ name }) => name)],
    begin: async () => {
      for (const other of others) await machines.cut(one, other);
    },
    end: async () => {
      for (const other of others) await machines.mend(one, other);
    },
  };
}

export function slowDiskOf(part: Part): Fault {
  const { machine, name } = part;
  const delay = `inject=fsync,fdatasync:delay_enter=${FSYNC_DELAY_MICROS}`;
  const tracer = async (): Promise<string> => {
    const { stdout } = await machine.tryRun(
      "sh",
      "-c",
      `grep TracerPid /proc/${part.pid()}/status`,
    );
    return stdout.split(/\s+/)[1] ?? "0";
  };
  return {
    ...{ kind: "slow-disk", name: `slow disk of ${name} (300 ms for each fsync)`, touches: [name] },
    begin: async () => {
      const flags = ["-f", "-q", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", delay];
      const strace = machine.start("strace", ...flags, "-p", part.pid());
      strace.stdout?.resume();
      strace.stderr?.resume();
      await until(async () => (await tracer()) !== "0", LONG);
    },
    end: async () => {
      if (!part.isRunning) return;
      await machine.tryRun("pkill", "-TERM", "-x", "strace");
      await until(async () => !part.isRunning || (await tracer()) === "0", LONG);
    },
  };
}

export function fullDiskOf(part: Part): Fault {
  const { machine, name } = part;
  const ballast = `${machine.data}/ballast`;
  return {
    ...{ kind: "full-disk", name: `full disk of ${name}`, touches: [name] },
    begin: async () => {
      await machine.tryRun("dd", "if=/dev/zero", `of=${ballast}`, "bs=1M");
      await machine.tryRun("dd", "if=/dev/zero", `of=${ballast}-2`, "bs=4k");
    },
    end: async () => {
      await machine.run("rm", "-f", ballast, `${ballast}-2`);
      if (!part.isRunning) await part.start();
    },
  };
}

function clockOf(plane: ControlPlane, part: Part, offset: string): Fault {
  return {
    ...{ kind: "clock", name: `clock of ${part.name} jumps by ${offset}`, touches: [part.name] },
    begin: async () => plane.setClock(part, offset),
    end: async () => plane.setClock(part, "+0"),
  };
}

async function startAgain(plane: ControlPlane, part: Part): Promise<void> {
  await part.start();
  if (plane.apiServers.includes(part)) await plane.untilReady(part);
}
