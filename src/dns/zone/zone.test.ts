/** Rows: what there is in the cluster, the question, the wanted answer. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build, type Draft } from "#testing/build.ts";
import type { Lookup } from "./lookup.ts";
import type { DnsRecord } from "./records.ts";
import { Zone } from "./zone.ts";

describe("zone: Kubernetes DNS specification 1.1", () => {
  const rows: readonly (readonly [question: string, want: string])[] = [
    // Services with a cluster IP
    ["kubernetes.default.svc.cluster.local A", "A 10.96.0.1"],
    ["kubernetes.default.svc.cluster.local AAAA", "NODATA"],
    ["kubernetes.default.svc.cluster.local MX", "NODATA"],
    ["dual.default.svc.cluster.local A", "A 10.96.0.20"],
    ["dual.default.svc.cluster.local AAAA", "AAAA fd00:0:0:0:0:0:0:20"],
    [
      "_https._tcp.kubernetes.default.svc.cluster.local SRV",
      "SRV 0 100 443 kubernetes.default.svc.cluster.local + kubernetes.default.svc.cluster.local A 10.96.0.1",
    ],
    [
      "kubernetes.default.svc.cluster.local SRV",
      "SRV 0 100 443 kubernetes.default.svc.cluster.local + kubernetes.default.svc.cluster.local A 10.96.0.1",
    ],
    ["_https._tcp.kubernetes.default.svc.cluster.local A", "A 10.96.0.1"],
    ["_https._udp.kubernetes.default.svc.cluster.local SRV", "NXDOMAIN"],
    ["_http._tcp.kubernetes.default.svc.cluster.local SRV", "NXDOMAIN"],
    ["absent.default.svc.cluster.local A", "NXDOMAIN"],
    ["kubernetes.elsewhere.svc.cluster.local A", "NXDOMAIN"],
    ["a.b.c.kubernetes.default.svc.cluster.local A", "NXDOMAIN"],
    // the endpoints of a Service with a cluster IP have names, too
    ["10-0-0-1.kubernetes.default.svc.cluster.local A", "A 10.0.0.1"],
    // headless Services
    ["web.default.svc.cluster.local A", "A 10.244.0.5, A 10.244.0.6"],
    ["web-0.web.default.svc.cluster.local A", "A 10.244.0.5"],
    ["10-244-0-6.web.default.svc.cluster.local A", "A 10.244.0.6"],
    ["10-244-0-7.web.default.svc.cluster.local A", "NXDOMAIN"], // not ready
    [
      "_http._tcp.web.default.svc.cluster.local SRV",
      "SRV 0 50 80 web-0.web.default.svc.cluster.local, SRV 0 50 80 10-244-0-6.web.default.svc.cluster.local" +
        " + web-0.web.default.svc.cluster.local A 10.244.0.5, 10-244-0-6.web.default.svc.cluster.local A 10.244.0.6",
    ],
    ["empty.default.svc.cluster.local A", "NXDOMAIN"],
    ["portless.default.svc.cluster.local A", "A 10.244.0.9"],
    ["portless.default.svc.cluster.local SRV", "NODATA"],
    // ExternalName
    ["outside.default.svc.cluster.local A", "alias www.example.com"],
    ["outside.default.svc.cluster.local CNAME", "alias www.example.com"],
    ["_x._tcp.outside.default.svc.cluster.local SRV", "NXDOMAIN"],
    ["address.default.svc.cluster.local A", "NXDOMAIN"],
    ["long-label.default.svc.cluster.local A", "NXDOMAIN"],
    // pods
    ["10-244-0-5.default.pod.cluster.local A", "A 10.244.0.5"],
    ["10-244-0-5.default.pod.cluster.local AAAA", "NODATA"],
    ["fd00--5.default.pod.cluster.local AAAA", "AAAA fd00:0:0:0:0:0:0:5"],
    ["10-244-0-500.default.pod.cluster.local A", "NXDOMAIN"],
    ["10-244-0-5.elsewhere.pod.cluster.local A", "NXDOMAIN"],
    // reverse names
    ["1.0.96.10.in-addr.arpa PTR", "PTR kubernetes.default.svc.cluster.local"],
    ["5.0.244.10.in-addr.arpa PTR", "PTR web-0.web.default.svc.cluster.local"],
    ["6.0.244.10.in-addr.arpa PTR", "PTR 10-244-0-6.web.default.svc.cluster.local"],
    [`0.2${".0".repeat(26)}.0.0.d.f.ip6.arpa PTR`, "PTR dual.default.svc.cluster.local"],
    ["1.0.96.10.in-addr.arpa A", "NODATA"],
    ["4.4.8.8.in-addr.arpa PTR", "outside"],
    ["96.10.in-addr.arpa PTR", "outside"],
    // the zone itself
    ["cluster.local A", "NODATA"],
    ["svc.cluster.local A", "NODATA"],
    ["default.svc.cluster.local A", "NODATA"],
    ["elsewhere.svc.cluster.local A", "NXDOMAIN"],
    ["cluster.local NS", "NS ns.dns.cluster.local"],
    ["dns-version.cluster.local TXT", "TXT 1.1.0"],
    ["www.cluster.local A", "NXDOMAIN"],
    ["example.com A", "outside"],
    ["xcluster.local A", "outside"],
    ["__proto__.default.svc.cluster.local A", "NXDOMAIN"],
  ];
  test.each(rows)("%s is %s", (question, want) => {
    const [name = "", type = ""] = question.split(" ");
    assert.equal(show(filledZone().lookup(name, type)), want);
  });
});

test("zone: a changed Service loses its old address in PTR, a deleted one its name", () => {
  const zone = filledZone();
  zone.services.putService(
    service("kubernetes", { clusterIPs: ["10.96.0.2"], ports: [{ port: 443 }] }),
  );
  assert.equal(show(zone.lookup("1.0.96.10.in-addr.arpa", "PTR")), "outside");
  assert.match(show(zone.lookup("2.0.96.10.in-addr.arpa", "PTR")), /kubernetes/);
  zone.services.removeService(service("kubernetes", {}));
  assert.equal(show(zone.lookup("kubernetes.default.svc.cluster.local", "A")), "NXDOMAIN");
  assert.equal(show(zone.lookup("2.0.96.10.in-addr.arpa", "PTR")), "outside");
});

test("zone: an EndpointSlice that moves to another Service leaves the first one", () => {
  const zone = filledZone();
  zone.services.putSlice(slice("empty", "web-1", [{ addresses: ["10.244.0.5"] }]));
  assert.equal(show(zone.lookup("web.default.svc.cluster.local", "A")), "NXDOMAIN");
  assert.equal(show(zone.lookup("empty.default.svc.cluster.local", "A")), "A 10.244.0.5");
  zone.services.removeSlice(slice("empty", "web-1", []));
  assert.equal(show(zone.lookup("5.0.244.10.in-addr.arpa", "PTR")), "outside");
});

test("zone: the SOA record has CoreDNS's names and times", () => {
  assert.deepEqual(filledZone().soa(7), {
    type: "SOA",
    name: "cluster.local",
    nameServer: "ns.dns.cluster.local",
    mailbox: "hostmaster.cluster.local",
    serial: 7,
    refreshSeconds: 7200,
    retrySeconds: 1800,
    expireSeconds: 86_400,
    minimumSeconds: 5,
  });
});

function filledZone(): Zone {
  const zone = new Zone({ clusterDomain: "Cluster.Local.", ttlSeconds: 5 });
  zone.addNamespace("default");
  const https = [{ name: "https", protocol: "TCP", port: 443 }];
  const http = [{ name: "http", protocol: "TCP", port: 80 }];
  zone.services.putService(service("kubernetes", { clusterIPs: ["10.96.0.1"], ports: https }));
  zone.services.putService(
    service("dual", { clusterIPs: ["10.96.0.20", "fd00::20"], ports: http }),
  );
  for (const name of ["web", "empty", "portless"]) {
    zone.services.putService(
      service(name, { clusterIP: "None", clusterIPs: ["None"], ports: http }),
    );
  }
  const external = (name: string, externalName: string) =>
    service(name, { type: "ExternalName", externalName });
  zone.services.putService(external("outside", "WWW.example.com."));
  zone.services.putService(external("address", "192.0.2.1"));
  zone.services.putService(external("long-label", `${"a".repeat(64)}.example.com`));
  zone.services.putSlice(slice("kubernetes", "kubernetes", [{ addresses: ["10.0.0.1"] }]));
  zone.services.putSlice(
    slice("web", "web-1", [
      { addresses: ["10.244.0.5"], hostname: "web-0", conditions: { ready: true } },
      { addresses: ["10.244.0.6"] },
      { addresses: ["10.244.0.7"], conditions: { ready: false } },
    ]),
  );
  const portless = slice("portless", "portless-1", [{ addresses: ["10.244.0.9"] }]);
  zone.services.putSlice({ ...portless, ports: [] });
  return zone;
}

function service(name: string, spec: NonNullable<Draft<Service>["spec"]>): Service {
  return build(serviceKind, { metadata: { name }, spec });
}

function slice(
  service: string,
  name: string,
  endpoints: NonNullable<Draft<EndpointSlice>["endpoints"]>,
): EndpointSlice {
  return build(endpointSliceKind, {
    metadata: { name, labels: { "kubernetes.io/service-name": service } },
    endpoints,
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
  });
}

function show(found: Lookup): string {
  switch (found.outcome) {
    case "records": {
      const additionals = found.additionals.map((each) => `${each.name} ${showRecord(each)}`);
      const tail = additionals.length === 0 ? "" : ` + ${additionals.join(", ")}`;
      return `${found.answers.map(showRecord).join(", ")}${tail}`;
    }
    case "alias":
      return `alias ${found.target}`;
    case "no-data":
      return "NODATA";
    case "name-error":
      return "NXDOMAIN";
    case "outside":
      return "outside";
  }
}

function showRecord(record: DnsRecord): string {
  switch (record.type) {
    case "A":
      return `A ${record.address.join(".")}`;
    case "AAAA": {
      const groups = Array.from({ length: 8 }, (_, i) =>
        ((record.address[2 * i]! << 8) | record.address[2 * i + 1]!).toString(16),
      );
      return `AAAA ${groups.join(":")}`;
    }
    case "SRV":
      return `SRV ${record.priority} ${record.weight} ${record.port} ${record.target}`;
    case "TXT":
      return `TXT ${record.text}`;
    case "SOA":
      return "SOA";
    default:
      return `${record.type} ${record.target}`;
  }
}
