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
const REST = "exec sleep 100000";
/** Until the file is there. */
const UNTIL_IDLE = "while [ ! -e /tmp/idle ]; do";
/** What containers use, and what an autoscaler lets them use. */
const AUTOSCALED = [
  {
    resource: "cpu",
    target: { type: "Utilization", averageUtilization: 50 },
    script: `${UNTIL_IDLE} :; done; ${REST}`,
    used: /^burner-\S+ +(1\d\d|2[0-4]\d)m /m,
  },
  {
    resource: "memory",
    target: { type: "AverageValue", averageValue: "20Mi" },
    // A file in /dev/shm is memory of the container.
    script: `dd if=/dev/zero of=/dev/shm/x bs=1048576 count=50; ${UNTIL_IDLE} sleep 0.1; done; rm /dev/shm/x; ${REST}`,
    used: /^burner-\S+ +\S+ +5\dMi/m,
  },
];
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

  test.each(AUTOSCALED)(
    "HorizontalPodAutoscaler by $resource: containers that use much are scaled up, and down when they use little",
    async ({ resource, target, script, used }) => {
      const limits = { requests: { cpu: "100m" }, limits: { cpu: "200m" } };
      await apply(deploymentOf("burner", script, limits), autoscalerOf(resource, target));
      const path = "jsonpath={.status.readyReplicas}";
      const replicas = (): Promise<string> => kubectl("get", "deployment", "burner", "-o", path);
      await until(async () => (await replicas()) === "2", { timeoutMs: LIMIT_MS });
      const shown = await kubectl("top", "pods", "-l", "app=burner", "--no-headers");
      assert.match(shown, used, shown);
      const pods = (await kubectl("get", "pods", "-l", "app=burner", "-o", "name")).trim();
      for (const pod of pods.split("\n")) await kubectl("exec", pod, "--", "touch", "/tmp/idle");
      await until(async () => (await replicas()) === "1", { timeoutMs: LIMIT_MS });
      await kubectl("delete", "deployment,hpa", "burner", "--wait");
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
        serviceOf("shop"),
        ingressOf("shop", [{ hosts: ["shop.test"], secretName: "shop" }]),
      );
      await kubectl("rollout", "status", "deployment/shop", "--timeout=60s");
      const address = await addressOf("shop");
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

  test(
    "Ingress: a rollout of its Deployment under load loses no request",
    async () => {
      // Endpoints are told to go before the container ends, as every program behind a proxy wants.
      const lifecycle = { preStop: { sleep: { seconds: 3 } } };
      const script = "hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp";
      const readinessProbe = { periodSeconds: 1, httpGet: { path: "/index.html", port: 8080 } };
      const rolling = deploymentOf("rolling", script, {}, { lifecycle, readinessProbe });
      await apply(rolling, serviceOf("rolling"), ingressOf("rolling"));
      await kubectl("rollout", "status", "deployment/rolling", "--timeout=60s");
      const address = await addressOf("rolling");
      const ask = ["--silent", "--header", "Host: rolling.test", `http://${address}/`];
      await until(async () => /^rolling-/.test((await machine.run("curl", ask)).stdout));
      const over = join(machine.dir, "over");
      const load = machine.start(process.execPath, ["-e", LOAD, address, "rolling.test", over]);
      let said = "";
      load.stdout?.on("data", (chunk: Buffer) => {
        said += chunk;
      });
      const ended = new Promise((resolve) => load.once("close", resolve));
      await until(() => said.includes("begun"));
      for (let round = 0; round < 2; round++) {
        await kubectl("set", "env", "deployment/rolling", `ROUND=${round}`);
        await kubectl("rollout", "status", "deployment/rolling", "--timeout=60s");
      }
      const selector = ["pods", "-l", "app=rolling"];
      const gone = async () => (await kubectl("get", ...selector, "-o", "name")).match(/pod/g);
      await until(async () => (await gone())?.length === 1, { timeoutMs: LIMIT_MS });
      writeFileSync(over, "");
      await ended;
      const { answers, failures } = JSON.parse(said.split("\n")[1] ?? "") as LoadResult;
      assert.deepEqual(failures, []);
      // Each of the three pods has answered.
      assert.equal(answers.length, 3);
    },
    LIMIT_MS,
  );

  async function addressOf(ingress: string): Promise<string> {
    const path = "{.status.loadBalancer.ingress[0].ip}";
    await kubectl("wait", `--for=jsonpath=${path}`, `ingress/${ingress}`, "--timeout=60s");
    return await kubectl("get", "ingress", ingress, "-o", `jsonpath=${path}`);
  }

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

function deploymentOf(
  name: string,
  script: string,
  resources: object = {},
  more: object = {},
): object {
  const container = { name, image: IMAGE, command: ["sh", "-c", script], resources, ...more };
  const labels = { app: name };
  // The shell and httpd do not end by SIGTERM.
  const grace = Object.hasOwn(more, "lifecycle") ? 4 : 0;
  const spec = { containers: [container], terminationGracePeriodSeconds: grace };
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

function autoscalerOf(resource: string, target: object): object {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "burner" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "burner" },
      ...{ minReplicas: 1, maxReplicas: 2 },
      metrics: [{ type: "Resource", resource: { name: resource, target } }],
      behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
    },
  };
}

function serviceOf(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
  };
}

/** For the host NAME.test. */
function ingressOf(name: string, tls: readonly object[] = []): object {
  const backend = { service: { name, port: { number: 80 } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: {
      tls,
      rules: [
        { host: `${name}.test`, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
      ],
    },
  };
}

interface LoadResult {
  /** Each different one. */
  readonly answers: readonly string[];
  readonly failures: readonly string[];
}

/** Eight clients with kept connections that ask until the file is there; then a LoadResult is printed. */
const LOAD = `
const { Agent, request } = require("node:http");
const { existsSync } = require("node:fs");
const [host, name, over] = process.argv.slice(1);
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
const answers = new Set();
const failures = [];
const ask = () => new Promise((resolve) => {
  const asked = request({ agent, host, headers: { host: name } }, (reply) => {
    let text = "";
    reply.on("data", (chunk) => (text += chunk));
    reply.on("error", (error) => resolve(failures.push(error.message)));
    reply.on("end", () => {
      if (reply.statusCode === 200) answers.add(text);
      else failures.push(reply.statusCode + " " + text);
      resolve();
    });
  });
  asked.on("error", (error) => resolve(failures.push(error.message)));
  asked.end();
});
const client = async () => { while (!existsSync(over)) await ask(); };
console.log("begun");
Promise.all(Array.from({ length: 8 }, client)).then(() => {
  console.log(JSON.stringify({ answers: [...answers], failures }));
  process.exit();
});
`;

function secretOf(certificatePem: string, keyPem: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: "shop" },
    stringData: { "tls.crt": certificatePem, "tls.key": keyPem },
  };
}
