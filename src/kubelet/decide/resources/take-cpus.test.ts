import assert from "node:assert/strict";
import { test } from "vitest";
import { formatCpuSet, parseCpuSet } from "./cpu-set.ts";
import { cpuTopology } from "./cpu-topology.ts";
import { distributeCpus } from "./distribute-cpus.ts";
import { takeCpus } from "./take-cpus.ts";

/** Hyper-threads of core n are n and n + cores, as Linux numbers them. */
function machine(sockets: number, coresPerSocket: number, threads: number, numaPerSocket = 1) {
  const cores = sockets * coresPerSocket;
  return cpuTopology(
    Array.from({ length: cores * threads }, (_, cpu) => {
      const core = cpu % cores;
      const socket = Math.floor(core / coresPerSocket);
      const inSocket = core % coresPerSocket;
      const numaNode =
        socket * numaPerSocket + Math.floor(inSocket / (coresPerSocket / numaPerSocket));
      return { cpu, core, socket, numaNode, uncoreCache: Math.floor(core / 2) };
    }),
  );
}

const single = machine(1, 4, 2);
const dual = machine(2, 4, 2);
const rows = [
  { name: "a whole core first", on: single, from: "0-7", count: 2, want: "0,4" },
  { name: "one CPU of a core", on: single, from: "0-7", count: 1, want: "0" },
  { name: "a core that is begun is filled up", on: single, from: "1-7", count: 1, want: "4" },
  { name: "core, then a single CPU", on: single, from: "1-7", count: 3, want: "1,4-5" },
  { name: "a whole socket", on: dual, from: "0-15", count: 8, want: "0-3,8-11" },
  { name: "the socket with fewer free CPUs", on: dual, from: "1-15", count: 2, want: "1,9" },
  {
    name: "a socket and a core of the next",
    on: dual,
    from: "0-15",
    count: 10,
    want: "0-4,8-12",
  },
  { name: "everything", on: dual, from: "0-15", count: 16, want: "0-15" },
];

for (const { name, on, from, count, want } of rows) {
  test(`static policy of the CPU manager: ${name}`, () => {
    assert.equal(formatCpuSet(takeCpus(on, parseCpuSet(from), count)), want);
  });
}

test("static policy of the CPU manager: too few CPUs are refused in upstream's words", () => {
  assert.throws(
    () => takeCpus(single, parseCpuSet("0-1"), 3),
    /^Error: not enough cpus available to satisfy request: requested=3, available=2$/,
  );
});

test("prefer-align-cpus-by-uncorecache: CPUs that share a cache", () => {
  const options = { alignByUncoreCache: true };
  assert.equal(formatCpuSet(takeCpus(single, parseCpuSet("0-7"), 4, options)), "0-1,4-5");
  // Cache 0 has one core left, cache 1 two: three CPUs fit into cache 1 only.
  assert.equal(formatCpuSet(takeCpus(single, parseCpuSet("1-3,5-7"), 3, options)), "2-3,6");
});

test("distribute-cpus-across-numa: an even share of each NUMA node", () => {
  const take = (count: number, groupSize: number): string =>
    formatCpuSet(distributeCpus(dual, parseCpuSet("0-15"), count, groupSize));
  assert.equal(take(8, 1), "0-3,8-11"); // one node is enough
  assert.equal(take(10, 1), "0-2,4-6,8-9,12-13");
  assert.equal(take(12, 2), "0-2,4-6,8-10,12-14");
});

test("cpuset list format: ranges are read and written; nonsense is refused", () => {
  assert.equal(formatCpuSet(parseCpuSet("7,0-2,1,5")), "0-2,5,7");
  assert.equal(formatCpuSet(parseCpuSet("")), "");
  for (const text of ["a", "3-1", "1-", "1,,2", "-1", "0-99999999"]) {
    assert.throws(() => parseCpuSet(text), Error, text);
  }
});
