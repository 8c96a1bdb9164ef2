/**
 * Add-ons of the built program with real containers, in a machine without a way out: an autoscaler that
 * follows what containers really use, and an Ingress with TLS for curl and Chromium.
 */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../../built-program.ts";
import { writeBusyboxImage } from "./busybox-image.ts";
import { until } from "./eventually.ts";
import { type Machine, startMachine } from "./machine.ts";

const IMAGE = "k8ts.local/busybox:1";
const LIMIT_MS = 240_000;
/** Burns what its limit allows until the file is there. */
const BURNER = "while [ ! -e /tmp/idle ]; do :; done; exec sleep 100000";
const missing = missingProgram("chromium") ?? missingProgram("kubectl");

describe.skipIf(missing !== undefined)("add-ons with real containers", () => {
  let machine: Machine;
  let data: string;
  let log = "";

  beforeAll(async () => {
    buildProgram();
    machine = await startMachine();
    data = join(machine.dir, "data");
    const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
    const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
    await machine.run("sh", ["-c", `${link} && ${address}`]);
    const often = ["--horizontal-pod-autoscaler-sync-period", "1s"];
    const args = [PROGRAM, "up", "--foreground", "--data", data, ...often];
    const up = machine.start(process.execPath, args);
    const keep = (chunk: Buffer): void => {
      log = (log + String(chunk)).slice(-50_000);
    };
    up.stdout?.on("data", keep);
    up.stderr?.on("data", keep);
    await until(() => log.includes("KUBECONFIG"), { timeoutMs: LIMIT_MS });
    const archive = join(machine.dir, "image.tar");
    await writeBusyboxImage(archive, { name: IMAGE });
    const load = [PROGRAM, "image", "import", archive, "--data", data];
    const loaded = await machine.run(process.execPath, load);
    assert.equal(loaded.exitCode, 0, loaded.stderr);
  }, LIMIT_MS);

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  }, LIMIT_MS);

  async function kubectl(...args: string[]): Promise<string> {
    const config = ["--kubeconfig", join(data, "kubeconfig")];
    const { exitCode, stdout, stderr } = await machine.run("kubectl", [...config, ...args]);
    assert.equal(exitCode, 0, `kubectl ${args.join(" ")}: ${stderr}\n${log}`);
    return stdout;
  }

  async function apply(...items: readonly object[]): Promise<void> {
    const args = ["--kubeconfig", join(data, "kubeconfig"), "apply", "-f", "-"];
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    const { exitCode, stderr } = await machine.run("kubectl", args, list);
    assert.equal(exitCode, 0, stderr);
  }

  test(
    "HorizontalPodAutoscaler: containers that burn processor time are scaled up, and down when they rest",
    async () => {
      await apply(BURNING, AUTOSCALER);
      const path = "jsonpath={.status.readyReplicas}";
      const replicas = (): Promise<string> => kubectl("get", "deployment", "burner", "-o", path);
      await until(async () => (await replicas()) === "2", { timeoutMs: LIMIT_MS });
      const used = await kubectl("top", "pods", "-l", "app=burner", "--no-headers");
      assert.match(used, /^burner-\S+ +(1\d\d|2[0-4]\d)m /m, used);
      const pods = (await kubectl("get", "pods", "-l", "app=burner", "-o", "name")).trim();
      for (const pod of pods.split("\n")) await kubectl("exec", pod, "--", "touch", "/tmp/idle");
      await until(async () => (await replicas()) === "1", { timeoutMs: LIMIT_MS });
      await kubectl("delete", "deployment,hpa", "burner");
    },
    2 * LIMIT_MS,
  );

  test(
    "Ingress with TLS: curl and Chromium accept the certificate of the host",
    async () => {
      const nowMs = Date.now();
      const authority = openAuthority(join(machine.dir, "ca"), "test", nowMs);
      const subject = { commonName: "shop.test" };
      const request = { subject, purpose: "server auth", altNames: ["shop.test"] } as const;
      const { certificatePem, keyPem } = issueLeaf(authority, request, nowMs);
      await apply(
        secretOf(certificatePem, keyPem),
        deploymentOf("shop", "echo sold > /tmp/index.html; exec httpd -f -p 8080 -h /tmp"),
        SERVICE,
        INGRESS,
      );
      await kubectl("rollout", "status", "deployment/shop", "--timeout=60s");
      const path = "{.status.loadBalancer.ingress[0].ip}";
      await kubectl("wait", `--for=jsonpath=${path}`, "ingress/shop", "--timeout=60s");
      const address = await kubectl("get", "ingress", "shop", "-o", `jsonpath=${path}`);
      const resolved = [
        "--resolve",
        `shop.test:443:${address}`,
        "--resolve",
        `shop.test:80:${address}`,
      ];
      const trusted = ["--cacert", join(machine.dir, "ca.crt")];
      // Over HTTP it is sent to HTTPS first.
      const ask = ["--silent", "--location", ...resolved, ...trusted, "http://shop.test/"];
      await until(async () => (await machine.run("curl", ask)).stdout === "sold\n");
      assert.deepEqual(await shownInChromium(address, certificatePem), {
        text: "sold\n",
        protocol: "h2",
      });
    },
    LIMIT_MS,
  );

  /** The browser accepts no other key: the host name is not one that it could look up. */
  async function shownInChromium(address: string, certificatePem: string) {
    const folder = join(machine.dir, "browser");
    mkdirSync(folder);
    const executablePath = join(folder, "chromium");
    const enter = machine.enterNetwork.join(" ");
    writeFileSync(executablePath, `#!/bin/sh\nexec nsenter ${enter} /usr/bin/chromium "$@"\n`);
    chmodSync(executablePath, 0o755);
    const { publicKey } = new X509Certificate(certificatePem);
    const spki = publicKey.export({ type: "spki", format: "der" });
    const digest = createHash("sha256").update(spki).digest("base64");
    const args = [
      "--no-sandbox",
      `--host-resolver-rules=MAP shop.test ${address}`,
      `--ignore-certificate-errors-spki-list=${digest}`,
    ];
    const browser = await chromium.launch({ executablePath, args });
    try {
      const page = await browser.newPage();
      await page.goto("https://shop.test/");
      return {
        text: await page.evaluate<string>("document.body.textContent"),
        protocol: await page.evaluate<string>(
          "performance.getEntriesByType('navigation')[0].nextHopProtocol",
        ),
      };
    } finally {
      await browser.close();
    }
  }
});

function deploymentOf(name: string, script: string, resources: object = {}): object {
  const container = { name, image: IMAGE, command: ["sh", "-c", script], resources };
  const labels = { app: name };
  const spec = { containers: [container], terminationGracePeriodSeconds: 0 };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}

const BURNING = deploymentOf("burner", BURNER, {
  requests: { cpu: "100m" },
  limits: { cpu: "200m" },
});

const AUTOSCALER = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "burner" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "burner" },
    ...{ minReplicas: 1, maxReplicas: 2 },
    metrics: [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
      },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
  },
};

const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "shop" },
  spec: { selector: { app: "shop" }, ports: [{ port: 80, targetPort: 8080 }] },
};

const INGRESS = {
  apiVersion: "networking.k8s.io/v1",
  kind: "Ingress",
  metadata: { name: "shop" },
  spec: {
    tls: [{ hosts: ["shop.test"], secretName: "shop" }],
    rules: [
      {
        host: "shop.test",
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "shop", port: { number: 80 } } },
            },
          ],
        },
      },
    ],
  },
};

function secretOf(certificatePem: string, keyPem: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: "shop" },
    stringData: { "tls.crt": certificatePem, "tls.key": keyPem },
  };
}
