import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { serviceKind } from "./service.ts";

const ports = [{ port: 80 }];
const service = (spec: object) => ({ object: { spec: { ports, ...spec } } });
const allocated = {
  ports: [{ port: 80, nodePort: 30_080, protocol: "TCP", targetPort: 80 }],
  type: "NodePort",
  clusterIP: "10.0.0.9",
  clusterIPs: ["10.0.0.9"],
  ipFamilies: ["IPv4"],
  ipFamilyPolicy: "SingleStack",
};

describe("services", () => {
  test("type, ports, sessionAffinity and traffic policies have defaults", () => {
    const { object } = runKind(
      serviceKind,
      service({ type: "LoadBalancer", sessionAffinity: "ClientIP" }),
    );
    assert.deepEqual((object as Service).spec, {
      ports: [{ protocol: "TCP", port: 80, targetPort: 80 }],
      type: "LoadBalancer",
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
      externalTrafficPolicy: "Cluster",
      internalTrafficPolicy: "Cluster",
      allocateLoadBalancerNodePorts: true,
    });
  });

  test("turning into an external name drops what was allocated", () => {
    const { object, faults } = runKind(serviceKind, {
      object: { spec: { ...allocated, type: "ExternalName", externalName: "a.example" } },
      old: { spec: allocated },
    });
    assert.deepEqual(faults, []);
    assert.deepEqual((object as Service).spec, {
      ports: [{ protocol: "TCP", port: 80, targetPort: 80 }],
      type: "ExternalName",
      sessionAffinity: "None",
      externalName: "a.example",
    });
  });

  test("what the client changed at the same time is not dropped", () => {
    const { faults } = runKind(serviceKind, {
      object: {
        spec: { ...allocated, type: "ClusterIP", ports: [{ port: 80, nodePort: 30_081 }] },
      },
      old: { spec: allocated },
    });
    assert.deepEqual(faults, [
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ]);
  });

  const rows = [
    {
      name: "two unnamed ports",
      write: { object: { spec: { ports: [{ port: 1 }, { port: 2 }] } } },
      faults: ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
    },
    {
      name: "a port twice",
      write: {
        object: {
          spec: {
            ports: [
              { port: 1, name: "a" },
              { port: 1, name: "b" },
            ],
          },
        },
      },
      faults: [
        'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,"TargetPort":0,"NodePort":0}',
      ],
    },
    {
      name: "an affinity that lasts too long",
      write: service({
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } },
      }),
      faults: [
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
      ],
    },
    {
      name: "an external name without the name",
      write: { object: { spec: { type: "ExternalName", externalName: "." } } },
      faults: ["spec.externalName: Required value"],
    },
    {
      name: "source ranges without a load balancer",
      write: service({ loadBalancerSourceRanges: [" 10.0.0.1/8"] }),
      faults: [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
      ],
    },
    {
      name: "traffic policies where there is no traffic",
      write: service({ externalTrafficPolicy: "Local", healthCheckNodePort: 30_000 }),
      faults: [
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ],
    },
    {
      name: "an unknown trafficDistribution",
      write: service({ trafficDistribution: "Random" }),
      faults: [
        'spec.trafficDistribution: Unsupported value: "Random": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
      ],
    },
    {
      name: "another load balancer class",
      write: {
        ...service({ type: "LoadBalancer", loadBalancerClass: "a/b" }),
        old: { spec: { ports, type: "LoadBalancer" } },
      },
      faults: ['spec.loadBalancerClass: Invalid value: "a/b": may not change once set'],
    },
    {
      name: "ingress of a service that is no load balancer",
      write: {
        object: { spec: allocated, status: { loadBalancer: { ingress: [{ ip: "10.1.0.1" }] } } },
        old: { spec: allocated },
        subresource: "status",
      },
      faults: [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
      ],
    },
    {
      name: "ingress that is no address and no name",
      write: {
        object: {
          spec: { ports, type: "LoadBalancer" },
          status: { loadBalancer: { ingress: [{ hostname: "10.1.0.1", ipMode: "VIP" }] } },
        },
        old: { spec: { ports, type: "LoadBalancer" } },
        subresource: "status",
      },
      faults: [
        "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
        'status.loadBalancer.ingress[0].hostname: Invalid value: "10.1.0.1": must be a DNS name, not an IP address',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(serviceKind, write).faults, faults));
  }

  test("deprecated and ineffective fields give warnings", () => {
    const { warnings } = runKind(
      serviceKind,
      service({
        clusterIP: "None",
        clusterIPs: ["None"],
        externalIPs: ["10.1.0.1"],
        sessionAffinity: "ClientIP",
        externalName: "a",
        trafficDistribution: "PreferClose",
      }),
    );
    assert.deepEqual(warnings, [
      "spec.externalIPs is ignored for headless services",
      "spec.SessionAffinity is ignored for headless services",
      'spec.externalName is ignored when spec.type is not "ExternalName"',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ]);
  });

  test("the columns show type, IPs, ports and selector", () => {
    const { object } = runKind(serviceKind, {
      object: {
        spec: { ...allocated, type: "LoadBalancer", selector: { b: "2", a: "1" } },
        status: { loadBalancer: { ingress: [{ hostname: "lb" }, { ip: "10.1.0.1" }] } },
      },
      old: { spec: { ...allocated, type: "LoadBalancer" } },
      subresource: "status",
    });
    const shown = {
      ...object,
      spec: { ...(object as Service).spec, selector: { b: "2", a: "1" } },
    };
    assert.deepEqual(
      serviceKind.columns.map((column) => column.cell(shown, 0)),
      ["x", "LoadBalancer", "10.0.0.9", "10.1.0.1,lb", "80:30080/TCP", "<unknown>", "a=1,b=2"],
    );
  });
});
