import assert from "node:assert/strict";
import { test } from "vitest";
import { type ConntrackSettings, decideConntrackSysctls } from "./conntrack-settings.ts";

const rows: readonly {
  readonly name: string;
  readonly settings: ConntrackSettings;
  readonly want: Readonly<Record<string, number>>;
}[] = [
  { name: "nothing given: nothing is written", settings: {}, want: {} },
  {
    name: "maxPerCore counts the cores",
    settings: { maxPerCore: 1_000, min: 500 },
    want: { nf_conntrack_max: 4_000 },
  },
  {
    name: "min is the least",
    settings: { maxPerCore: 1_000, min: 9_000 },
    want: { nf_conntrack_max: 9_000 },
  },
  {
    name: "maxPerCore 0 leaves the limit, min or not",
    settings: { maxPerCore: 0, min: 9 },
    want: {},
  },
  {
    name: "timeouts in seconds; zero leaves one as it is",
    settings: {
      ...{ tcpEstablishedTimeoutMs: 86_400_000, tcpCloseWaitTimeoutMs: 3_600_000 },
      ...{ udpTimeoutMs: 0, udpStreamTimeoutMs: 90_000, tcpBeLiberal: true },
    },
    want: {
      nf_conntrack_tcp_timeout_established: 86_400,
      nf_conntrack_tcp_timeout_close_wait: 3_600,
      nf_conntrack_tcp_be_liberal: 1,
      nf_conntrack_udp_timeout_stream: 90,
    },
  },
];

for (const { name, settings, want } of rows) {
  test(`conntrack settings: ${name}`, () => {
    assert.deepEqual(Object.fromEntries(decideConntrackSysctls(settings, 4)), want);
  });
}
