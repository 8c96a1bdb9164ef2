/** Packets of any kind, and answers read by an independent decoder. */
import assert from "node:assert/strict";
import packets from "dns-packet";
import fc from "fast-check";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { defaultConfig } from "../config/dns-config.ts";
import { readConfig } from "../config/read-config.ts";
import { PodAddresses } from "../zone/pod-addresses.ts";
import { Zone } from "../zone/zone.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { Responder } from "./responder.ts";
import { Routes } from "./routes.ts";

const POD_IP = "10.244.0.7";
const UDP = { carrier: "udp", family: "1", client: POD_IP } as const;
const NAME = "kubernetes.default.svc.cluster.local";
const signal = new AbortController().signal;

test("Responder: hostile packets: any bytes are answered with a well-formed message or not at all", async () => {
  const responder = filledResponder();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), async (bytes) => {
      await checkAnswer(responder, Buffer.from(bytes));
    }),
    { numRuns: 2_000 },
  );
});

test("Responder: hostile packets: a query with flipped, cut or repeated bytes", async () => {
  const responder = filledResponder();
  const valid = ask({ edns: true });
  const change = fc.record({ at: fc.nat(valid.length - 1), byte: fc.nat(255) });
  const input = fc.record({
    changes: fc.array(change, { maxLength: 6 }),
    length: fc.nat(2 * valid.length),
  });
  await fc.assert(
    fc.asyncProperty(input, async ({ changes, length }) => {
      const packet = Buffer.from(Buffer.concat([valid, valid]).subarray(0, length));
      for (const { at, byte } of changes) if (at < packet.length) packet[at] = byte;
      await checkAnswer(responder, packet);
    }),
    { numRuns: 5_000 },
  );
});

test("hostile packets: names of labels with dots, zero bytes or upper case", async () => {
  const responder = filledResponder();
  const label = fc.uint8Array({ minLength: 1, maxLength: 63 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(label, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (labels, below) => {
        const domain = below ? ["default", "svc", "cluster", "local"] : [];
        const parts = [
          ...labels.map((each) => Buffer.from(each)),
          ...domain.map((d) => Buffer.from(d)),
        ];
        const name = Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), part]));
        const question = Buffer.concat([name, Buffer.from([0, 0, 1, 0, 1])]);
        const packet = Buffer.concat([Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), question]);
        const answer = await responder.respond(packet, UDP, signal);
        const isTooLong = name.length + 1 > 255;
        assert.equal(rcodeOf(answer!), isTooLong ? 1 : below ? 3 : 5);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("FORMERR: two questions, three additional records, a compressed question, a second OPT", () => {
  const responder = filledResponder();
  const twice = ask();
  twice.writeUInt16BE(2, 4);
  const additionals = ask();
  additionals.writeUInt16BE(3, 10);
  const pointer = Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]);
  const edns = ask({ edns: true });
  const secondOpt = Buffer.concat([edns, edns.subarray(edns.length - 11)]);
  secondOpt.writeUInt16BE(2, 10);
  for (const packet of [twice, additionals, pointer, secondOpt, ask().subarray(0, 20)]) {
    const answer = responder.respond(packet, UDP, signal);
    assert.ok(Buffer.isBuffer(answer));
    assert.equal(answer.length, 12);
    assert.equal(rcodeOf(answer), 1);
    assert.equal(answer.readUInt16BE(0), packet.readUInt16BE(0));
  }
});

test("DNS responses and packets without a header are not answered", () => {
  const response = ask();
  response.writeUInt16BE(0x8180, 2);
  for (const packet of [response, Buffer.alloc(11), Buffer.alloc(0)]) {
    assert.equal(filledResponder().respond(packet, UDP, signal), undefined);
  }
});

test("a name of the cluster is SERVFAIL until the zone is complete", () => {
  const answer = filledResponder({ ready: false }).respond(ask(), UDP, signal);
  assert.equal(rcodeOf(answer as Buffer), 2);
});

test("Responder: a repeated query is answered anew after its Service, EndpointSlice or Namespace changed", () => {
  const zone = new Zone({ clusterDomain: "cluster.local", ttlSeconds: 5 });
  const responder = filledResponder({ zone });
  const shown = (id: number): string => {
    const packet = ask();
    packet.writeUInt16BE(id, 0);
    const answer = responder.respond(packet, UDP, signal) as Buffer;
    assert.equal(answer.readUInt16BE(0), id);
    return rcodeOf(answer) === 0 ? answer.subarray(-4).join(".") : `rcode ${rcodeOf(answer)}`;
  };
  const service = (clusterIP: string) =>
    build(serviceKind, { metadata: { name: "kubernetes" }, spec: { clusterIPs: [clusterIP] } });
  const slice = build(endpointSliceKind, {
    metadata: { name: "a", labels: { "kubernetes.io/service-name": "kubernetes" } },
    endpoints: [{ addresses: ["10.0.0.9"], conditions: {} }],
  });
  assert.deepEqual([shown(1), shown(2)], ["10.96.0.1", "10.96.0.1"]);
  zone.services.putService(service("10.96.0.2"));
  assert.deepEqual([shown(3), shown(4)], ["10.96.0.2", "10.96.0.2"]);
  zone.services.putService(service("None"));
  assert.deepEqual([shown(5), shown(6)], ["rcode 3", "rcode 3"]);
  zone.services.putSlice(slice);
  assert.deepEqual([shown(7), shown(8)], ["10.0.0.9", "10.0.0.9"]);
  zone.services.removeSlice(slice);
  assert.equal(shown(9), "rcode 3");
  zone.services.putSlice(slice);
  assert.equal(shown(10), "10.0.0.9");
  zone.removeNamespace("default");
  assert.equal(shown(11), "rcode 3");
  zone.addNamespace("default");
  assert.equal(shown(12), "10.0.0.9");
  zone.services.removeService(service("None"));
  assert.equal(shown(13), "rcode 3");
});

test("metrics: coredns_dns_requests_total counts repeated queries", () => {
  const metrics = new Metrics();
  const responder = filledResponder({ metrics });
  for (let i = 0; i < 3; i++) void responder.respond(ask(), UDP, signal);
  assert.match(metrics.text(), /coredns_dns_requests_total\{.*type="A"\} 3\n/);
  assert.match(metrics.text(), /coredns_dns_response_size_bytes_count\{.*\} 3\n/);
});

test("metrics: requests and responses have CoreDNS's names and labels", () => {
  const metrics = new Metrics();
  void filledResponder({ metrics }).respond(ask(), UDP, signal);
  const text = metrics.text();
  const labels = 'server="dns://:53",zone="cluster.local.",view=""';
  assert.ok(
    text.includes(`coredns_dns_requests_total{${labels},proto="udp",family="1",type="A"} 1\n`),
  );
  assert.ok(
    text.includes(`coredns_dns_responses_total{${labels},rcode="NOERROR",plugin="kubernetes"} 1\n`),
  );
  assert.ok(text.includes(`coredns_dns_request_duration_seconds_count{${labels}} 1\n`));
});

/** A refusal is a header alone; every other answer can be decoded and repeats the question. */
async function checkAnswer(responder: Responder, packet: Buffer): Promise<void> {
  const answer = await responder.respond(packet, UDP, signal);
  if (answer === undefined) return;
  assert.ok(answer.length >= 12 && answer.length <= 1232);
  assert.equal(answer.readUInt16BE(0), packet.readUInt16BE(0));
  assert.ok((answer[2]! & 0x80) !== 0);
  if (answer.length === 12) return;
  const decoded = packets.decode(answer);
  assert.equal(decoded.questions?.length, 1);
  assert.equal(packets.decode.bytes, answer.length);
}

test("Responder: Corefile: hosts, rewrite name and server blocks", async () => {
  const responder = filledResponder({
    corefile: `.:53 {
      errors
      rewrite name suffix .corp.example .svc.cluster.local
      rewrite name api.example kubernetes.default.svc.cluster.local
      hosts {
        192.0.2.7 printer.lan
        ttl 60
        fallthrough
      }
      kubernetes cluster.local in-addr.arpa ip6.arpa {
        ttl 30
      }
    }
    closed.example {
      hosts {
        192.0.2.8 a.closed.example
      }
    }`,
  });
  const answers = async (name: string): Promise<unknown> => {
    const answer = await responder.respond(ask({ name }), UDP, signal);
    assert.ok(answer);
    const { answers = [] } = packets.decode(answer);
    const found = answers.map((a) => ("data" in a && "ttl" in a ? [a.name, a.data, a.ttl] : []));
    return found.length > 0 ? found[0] : rcodeOf(answer);
  };
  assert.deepEqual(await answers("printer.lan"), ["printer.lan", "192.0.2.7", 60]);
  assert.deepEqual(await answers("api.example"), ["api.example", "10.96.0.1", 30]);
  const suffixed = "kubernetes.default.corp.example";
  assert.deepEqual(await answers(suffixed), [suffixed, "10.96.0.1", 30]);
  assert.deepEqual(await answers("a.closed.example"), ["a.closed.example", "192.0.2.8", 3600]);
  assert.equal(await answers("b.closed.example"), 3); // NXDOMAIN: no fallthrough
  assert.equal(await answers("other.example"), 5); // REFUSED: nothing forwards
  assert.equal(await answers("10-0-0-1.default.pod.cluster.local"), 3); // pods are disabled
});

function rcodeOf(answer: Buffer): number {
  return answer[3]! & 0xf;
}

function ask({ edns = false, name = NAME } = {}): Buffer {
  const opt: packets.OptAnswer = {
    ...{ type: "OPT", name: ".", udpPayloadSize: 1232, flags: 0, options: [] },
    ...{ extendedRcode: 0, ednsVersion: 0, flag_do: false },
  };
  return packets.encode({
    type: "query",
    id: 7,
    flags: packets.RECURSION_DESIRED,
    questions: [{ type: "A", name }],
    ...(edns ? { additionals: [opt] } : {}),
  });
}

const AUTO_PATH = `. {
  kubernetes cluster.local {
    pods verified
  }
  autopath @kubernetes
  hosts {
    192.0.2.7 printer.lan.corp.example
    192.0.2.8 www.example
    fallthrough
  }
}`;

const AUTO_PATH_ROWS = [
  ["kubernetes.default.svc.cluster.local", POD_IP, "NOERROR", undefined],
  [
    "kubernetes.default.default.svc.cluster.local",
    POD_IP,
    "NOERROR",
    "kubernetes.default.svc.cluster.local",
  ],
  [
    "kubernetes.default.svc.default.svc.cluster.local",
    POD_IP,
    "NOERROR",
    "kubernetes.default.svc.cluster.local",
  ],
  ["printer.lan.default.svc.cluster.local", POD_IP, "NOERROR", "printer.lan.corp.example"],
  ["www.example.default.svc.cluster.local", POD_IP, "NOERROR", "www.example"],
  ["nowhere.default.svc.cluster.local", POD_IP, "NXDOMAIN", undefined],
  // From an address that no pod has, and for the list of another namespace.
  ["www.example.default.svc.cluster.local", "10.244.0.8", "NXDOMAIN", undefined],
  ["www.example.other.svc.cluster.local", POD_IP, "NXDOMAIN", undefined],
] as const;

for (const [name, client, rcode, target] of AUTO_PATH_ROWS) {
  test(`Responder: autopath: ${name} from ${client} is ${rcode} ${target ?? ""}`, async () => {
    const responder = filledResponder({ corefile: AUTO_PATH });
    const answer = await responder.respond(ask({ name }), { ...UDP, client }, signal);
    const { answers = [], ...read } = packets.decode(answer!) as packets.DecodedPacket & {
      rcode: string;
    };
    assert.equal(read.rcode, rcode);
    const aliases = answers.flatMap((a) => (a.type === "CNAME" ? [[a.name, a.data]] : []));
    assert.deepEqual(aliases, target === undefined ? [] : [[name, target]]);
    assert.equal(
      answers.some((a) => a.type === "A"),
      rcode === "NOERROR",
    );
  });
}

test("pods verified: a pod name has its address only if a pod of the namespace has it", async () => {
  const responder = filledResponder({ corefile: AUTO_PATH });
  for (const [name, want] of [
    ["10-244-0-7.default.pod.cluster.local", 0],
    ["10-244-0-8.default.pod.cluster.local", 3],
  ] as const) {
    const answer = await responder.respond(ask({ name }), { ...UDP, client: "" }, signal);
    assert.equal(rcodeOf(answer!), want, name);
  }
});

function filledResponder({
  ready = true,
  metrics = new Metrics(),
  corefile = undefined as string | undefined,
  zone = new Zone({ clusterDomain: "cluster.local", ttlSeconds: 5 }),
} = {}): Responder {
  zone.addNamespace("default");
  const ports = [{ name: "https", port: 443, protocol: "TCP" as const }];
  const metadata = { name: "kubernetes" };
  zone.services.putService(
    build(serviceKind, { metadata, spec: { clusterIPs: ["10.96.0.1"], ports } }),
  );
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const random = seededRandom(1);
  const routes = new Routes(
    {
      ...{ clock, random, logger: silentLogger, metrics, serverLabel: "dns://:53" },
      config:
        corefile === undefined
          ? defaultConfig([])
          : readConfig(corefile, {
              clusterDomain: "cluster.local",
              readFile: () => "search corp.example.\n",
            }),
    },
    signal,
  );
  const pods = new PodAddresses();
  const status = { podIPs: [{ ip: POD_IP }] };
  pods.put(build(podKind, { metadata: { name: "client" }, status }));
  return new Responder({
    ...{ zone, pods, ttlSeconds: 5, clock, random, routes: () => routes },
    metrics: createRequestMetrics(metrics, { server: "dns://:53", zone: zone.domain }),
    ready: () => ready,
  });
}
