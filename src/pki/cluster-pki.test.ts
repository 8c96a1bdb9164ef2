import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { afterEach, beforeEach, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { ClusterPki, type PkiOptions, servingNames } from "./cluster-pki.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { certificateSubject, readSubject } from "./subject.ts";

const DAY_MS = 86_400_000;
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "pki-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

// TLS itself reads the system's time, so the clock starts there.
const START_MS = systemClock.nowMs();

function options(changes: Partial<PkiOptions> = {}): PkiOptions {
  return {
    directory,
    servingNames: servingNames("cluster.local", "box", ["10.96.0.1", "192.0.2.7", "fd00::1"]),
    serverUrl: "https://127.0.0.1:6443",
    clock: new VirtualClock(START_MS),
    logger: silentLogger,
    ...changes,
  };
}

const pkiFile = (name: string): string => join(directory, "pki", name);
const read = (name: string): string => readFileSync(pkiFile(name), "utf8");

describe("ClusterPki: first start", () => {
  test("every file is there and private", () => {
    ClusterPki.open(options());
    const files = readdirSync(directory, { recursive: true }).map(String).sort();
    const pairs = ["apiserver", "apiserver-kubelet-client", "ca", "front-proxy-ca"];
    assert.deepEqual(
      files,
      [
        "admin.kubeconfig",
        "controller-manager.kubeconfig",
        "pki",
        ...pairs.flatMap((name) => [`pki/${name}.crt`, `pki/${name}.key`]),
        "pki/front-proxy-client.crt",
        "pki/front-proxy-client.key",
        "pki/sa.key",
        "pki/sa.pub",
        "scheduler.kubeconfig",
      ].sort(),
    );
    for (const file of files.filter((name) => name !== "pki")) {
      assert.equal(
        statSync(join(directory, file)).mode & 0o777,
        /\.(crt|pub)$/.test(file) ? 0o644 : 0o600,
        file,
      );
    }
  });

  test("the serving certificate has the names of the service and of the machine", () => {
    ClusterPki.open(options());
    const certificate = new X509Certificate(read("apiserver.crt"));
    const hosts = ["kubernetes", "kubernetes.default.svc.cluster.local", "localhost", "box"];
    for (const host of hosts) assert.equal(certificate.checkHost(host), host);
    for (const ip of ["10.96.0.1", "127.0.0.1", "192.0.2.7"]) {
      assert.equal(certificate.checkIP(ip), ip);
    }
    assert.ok(certificate.checkIP("::1"));
    assert.ok(certificate.checkIP("fd00::1"));
    assert.equal(certificate.checkHost("elsewhere"), undefined);
  });

  const clients = [
    { file: "admin", commonName: "kubernetes-admin", organizations: ["system:masters"] },
    { file: "controller-manager", commonName: "system:kube-controller-manager", organizations: [] },
    { file: "scheduler", commonName: "system:kube-scheduler", organizations: [] },
  ];
  for (const { file, ...subject } of clients) {
    test(`${file}.kubeconfig holds a client certificate of the CA`, () => {
      ClusterPki.open(options());
      const text = readFileSync(join(directory, `${file}.kubeconfig`), "utf8");
      const { client, authorityPem } = parseKubeconfig(text)!;
      const certificate = new X509Certificate(client.certificatePem);
      assert.deepEqual(readSubject(certificateSubject(certificate.raw)), { ...subject, uids: [] });
      assert.ok(certificate.verify(new X509Certificate(authorityPem).publicKey));
      assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
    });
  }
});

test("a TLS server with the material and a client with the admin's certificate trust each other", async () => {
  const { material } = ClusterPki.open(options());
  const text = readFileSync(join(directory, "admin.kubeconfig"), "utf8");
  const { client, authorityPem } = parseKubeconfig(text)!;
  const server = createServer({
    cert: material.serving.certificatePem,
    key: material.serving.keyPem,
    ca: material.clientCaPem,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const subject = new Promise<string>((resolve) =>
    server.on("secureConnection", (socket) => {
      resolve(socket.getPeerX509Certificate()?.subject ?? "");
      socket.end();
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "kubernetes",
    ca: authorityPem,
    cert: client.certificatePem,
    key: client.keyPem,
  });
  assert.equal(await subject, "O=system:masters\nCN=kubernetes-admin");
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

describe("ClusterPki: later starts", () => {
  test("a second start keeps all keys and certificates", () => {
    const first = ClusterPki.open(options()).material;
    assert.deepEqual(ClusterPki.open(options()).material, first);
  });

  test("another address makes a new serving certificate under the same CA", () => {
    const first = ClusterPki.open(options()).material;
    const names = [...options().servingNames, "198.51.100.9"];
    const second = ClusterPki.open(options({ servingNames: names })).material;
    assert.equal(second.clientCaPem, first.clientCaPem);
    assert.ok(new X509Certificate(second.serving.certificatePem).checkIP("198.51.100.9"));
    assert.deepEqual(second.kubeletClient, first.kubeletClient);
  });

  test("what the user added to a kubeconfig stays", () => {
    ClusterPki.open(options());
    const file = join(directory, "admin.kubeconfig");
    const edited = `${readFileSync(file, "utf8")}preferences: {}\n`;
    writeFileSync(file, edited);
    ClusterPki.open(options());
    assert.equal(readFileSync(file, "utf8"), edited);
  });

  test("a damaged leaf is made again", () => {
    ClusterPki.open(options());
    writeFileSync(pkiFile("apiserver.crt"), "");
    ClusterPki.open(options());
    assert.ok(new X509Certificate(read("apiserver.crt")).checkHost("kubernetes"));
  });

  test("a CA key whose certificate was not written yet is used", () => {
    ClusterPki.open(options());
    const key = read("ca.key");
    rmSync(pkiFile("ca.crt"));
    const { material } = ClusterPki.open(options());
    assert.equal(read("ca.key"), key);
    const ca = new X509Certificate(material.clientCaPem);
    assert.ok(new X509Certificate(material.serving.certificatePem).verify(ca.publicKey));
  });

  const faults = [
    {
      name: "a CA certificate without its key",
      damage: () => rmSync(pkiFile("ca.key")),
      message: /ca\.crt has no key: put .*ca\.key back/,
    },
    {
      name: "a CA key that is another's",
      damage: () => writeFileSync(pkiFile("ca.key"), read("front-proxy-ca.key")),
      message: /the key in .*ca\.key does not belong to .*ca\.crt/,
    },
    {
      name: "a damaged CA",
      damage: () => writeFileSync(pkiFile("ca.crt"), "garbage"),
      message: /ca\.crt does not hold a certificate in PEM form/,
    },
    {
      name: "a damaged service account key",
      damage: () => writeFileSync(pkiFile("sa.key"), "garbage"),
      message: /sa\.key does not hold a private key in PEM form/,
    },
  ];
  for (const { name, damage, message } of faults) {
    test(`${name} stops the start`, () => {
      ClusterPki.open(options());
      damage();
      assert.throws(() => ClusterPki.open(options()), message);
    });
  }
});

test("certificates are renewed while the server runs", async () => {
  const clock = new VirtualClock(START_MS);
  const pki = ClusterPki.open(options({ clock }));
  const first = pki.material;
  const ending = new AbortController();
  const renewed: string[] = [];
  pki.onRenewal(({ serving }) => renewed.push(serving.certificatePem));
  const running = pki.run(ending.signal);
  await clock.advance(240 * DAY_MS);
  assert.deepEqual(renewed, []);
  await clock.advance(5 * DAY_MS);
  assert.equal(renewed.length, 1);
  assert.notEqual(renewed[0], first.serving.certificatePem);
  assert.equal(pki.material.clientCaPem, first.clientCaPem);
  ending.abort();
  await running;
});

test("a kubeconfig that comes due alone is renewed, and what the user added to it stays", async () => {
  const first = new VirtualClock(START_MS);
  ClusterPki.open(options({ clock: first }));
  const file = join(directory, "admin.kubeconfig");
  const added = readFileSync(file, "utf8").replace("    user: kubernetes-admin\n", (user) => {
    return `${user}    namespace: mine\n`;
  });
  const clock = new VirtualClock(START_MS + 200 * DAY_MS);
  for (const name of ["apiserver.crt", "apiserver-kubelet-client.crt", "front-proxy-client.crt"]) {
    rmSync(pkiFile(name)); // made again later than the kubeconfig
  }
  writeFileSync(file, added);
  const pki = ClusterPki.open(options({ clock }));
  const ending = new AbortController();
  const running = pki.run(ending.signal);
  await clock.advance(60 * DAY_MS);
  const renewed = readFileSync(file, "utf8");
  assert.notEqual(
    parseKubeconfig(renewed)?.client.certificatePem,
    parseKubeconfig(added)?.client.certificatePem,
  );
  assert.match(renewed, /^ {4}namespace: mine$/m);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  ending.abort();
  await running;
});
