import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { readConfig } from "./read-config.ts";

const SURROUNDINGS = {
  clusterDomain: "cluster.local",
  readFile: (path: string): string => {
    if (path === "/etc/resolv.conf") return "nameserver 192.0.2.53\nnameserver 2001:db8::53\n";
    throw new Error(`open ${path}: no such file or directory`);
  },
};

/** The Corefile that kubeadm installs. */
const KUBEADM = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`;

test("Corefile: kubeadm's is read", () => {
  const { blocks } = readConfig(KUBEADM, SURROUNDINGS);
  assert.deepEqual(blocks, [
    {
      zones: [""],
      rewrites: [],
      hosts: undefined,
      kubernetes: { pods: "insecure", ttlSeconds: 30 },
      forwards: [
        {
          ...{ from: "", except: [], policy: "random", concurrentMax: 1000 },
          upstreams: [
            { address: "192.0.2.53", port: 53 },
            { address: "2001:db8::53", port: 53 },
          ],
        },
      ],
      cache: { ttlMaxSeconds: 30 },
      isLogged: false,
      autoPath: undefined,
    },
  ]);
});

test("Corefile: stub domains, several zones, except, comments and quotes", () => {
  const { blocks } = readConfig(
    `# stub domain
    corp.example:53 dns://Other.example. {
      log
      forward . 10.0.0.1:5353 "10.0.0.2" {  # two servers
        except a.corp.example
        policy sequential
      }
    }`,
    SURROUNDINGS,
  );
  assert.deepEqual(blocks[0]?.zones, ["corp.example", "other.example"]);
  assert.equal(blocks[0]?.isLogged, true);
  assert.deepEqual(blocks[0]?.forwards[0], {
    ...{ from: "", except: ["a.corp.example"], policy: "sequential", concurrentMax: undefined },
    upstreams: [
      { address: "10.0.0.1", port: 5353 },
      { address: "10.0.0.2", port: 53 },
    ],
  });
});

describe("Corefile: rewrite name", () => {
  const rows = [
    ["name exact a.example b.example", "a.example", "b.example"],
    ["name a.example b.example", "x.example", "x.example"],
    ["name prefix old- new-", "old-a.example", "new-a.example"],
    ["name suffix .a.example. .b.example.", "x.a.example", "x.b.example"],
    ["name substring mid end", "a.mid.example", "a.end.example"],
    ["stop name regex (.*)-(us)\\.example\\.$ {2}.{1}.example", "db-us.example", "us.db.example"],
  ] as const;
  for (const [rule, name, want] of rows) {
    test(rule, () => {
      const { blocks } = readConfig(`. {\n rewrite ${rule}\n}`, SURROUNDINGS);
      assert.equal(blocks[0]?.rewrites[0]?.apply(name) ?? name, want);
    });
  }
});

describe("Corefile: a Corefile that cannot be kept is refused with its line", () => {
  const rows = [
    [". {\n nonsense\n}", "Corefile:2 - Error during parsing: Unknown directive 'nonsense'"],
    [". {\n forward .\n}", "Corefile:2 - Error during parsing: Wrong argument count or unexpected"],
    [
      ". {\n forward . tls://9.9.9.9\n}",
      "Corefile:2 - Error during parsing: not an IP address or file",
    ],
    [". {\n forward . /etc/shadow\n}", "Corefile:2 - Error during parsing: open /etc/shadow"],
    [
      ". {\n kubernetes other.local\n}",
      "kubernetes other.local: the cluster's domain is cluster.local",
    ],
    [
      ". {\n kubernetes cluster.local {\n  labels a=b\n }\n}",
      "Corefile:3 - Error during parsing: unknown property 'labels'",
    ],
    [". {\n cache x y {\n", "Corefile:1 - Error during parsing: Unexpected EOF"],
    [
      ". {\n autopath @kubernetes\n kubernetes cluster.local\n}",
      "Corefile:2 - Error during parsing: autopath @kubernetes needs kubernetes with pods verified",
    ],
    [". {\n import /etc/x\n}", "import is not supported"],
    [". {\n rewrite type ANY A\n}", "rewrite type is not supported"],
  ] as const;
  for (const [text, want] of rows) {
    test(want, () =>
      assert.throws(
        () => readConfig(text, SURROUNDINGS),
        (error: Error) => error.message.includes(want),
      ),
    );
  }
});
