/**
 * Makes the pictures of docs/dashboard.md anew: `npx tsx tools/dashboard-images.ts`, as root. A cluster of the
 * built program runs in a machine without a way out, with real containers; Debian's Chromium shows it.
 */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { buildProgram, PROGRAM } from "../test/built-program.ts";
import { openTestPage } from "../test/e2e/dashboard/browser.ts";
import { until } from "../test/e2e/node/eventually.ts";
import { type Machine, startMachine } from "../test/e2e/node/machine.ts";

const IMAGES = fileURLToPath(new URL("../docs/images/", import.meta.url));
const TIMEOUT_MS = 90_000;
const SIZE = { width: 1280, height: 720 };

/** A Deployment that is ready, one that never is, a database outside of the cluster, a pod without a node. */
const OBJECTS = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default, labels: { app: web } }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "k8ts.local/demo:1" }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: api, namespace: default }
spec:
  selector: { matchLabels: { app: api } }
  template:
    metadata: { labels: { app: api } }
    spec:
      containers:
        - name: api
          image: k8ts.local/demo:1
          readinessProbe: { httpGet: { path: /missing, port: 8080 } }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: default }
spec: { selector: { app: api }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: database, namespace: default }
spec: { ports: [{ port: 5432 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: database-1
  namespace: default
  labels: { kubernetes.io/service-name: database }
addressType: IPv4
endpoints: [{ addresses: [192.0.2.7] }]
ports: [{ port: 5432 }]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: shop, namespace: default }
spec:
  rules:
    - host: shop.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: web, port: { number: 80 } } }
          - path: /api
            pathType: Prefix
            backend: { service: { name: api, port: { number: 80 } } }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: tick, namespace: default }
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{ name: tick, image: "k8ts.local/demo:1", command: [date] }]
---
apiVersion: v1
kind: Pod
metadata: { name: stuck, namespace: default, labels: { run: stuck } }
spec:
  nodeSelector: { disk: fast }
  containers: [{ name: stuck, image: "k8ts.local/demo:1" }]
`;

buildProgram();
await using machine = await startMachine();
const data = join(machine.dir, "data");
const link = "ip link add node0 type veth peer name node1 && ip link set node1 up";
const address = "ip addr add 192.168.77.1/24 dev node0 && ip link set node0 up";
await machine.run("sh", ["-c", `${link} && ${address}`]);
let log = "";
const up = machine.start(process.execPath, [PROGRAM, "up", "--foreground", "--data", data]);
for (const stream of [up.stdout, up.stderr])
  stream?.on("data", (chunk: Buffer) => {
    log = (log + String(chunk)).slice(-50_000);
  });
await until(() => /dashboard: \S+\/\n/.test(log), { timeoutMs: TIMEOUT_MS });
const { origin } = new URL(/dashboard: (\S+)/.exec(log)?.[1] ?? "");
await kubectl("create -f -", OBJECTS);
await kubectl("create serviceaccount ann");
await kubectl(
  "create clusterrolebinding ann --clusterrole=cluster-admin --serviceaccount=default:ann",
);
await kubectl("rollout status deployment/web --timeout=90s");
await kubectl("wait --for=condition=PodScheduled=false pod/stuck --timeout=90s");
await until(async () => /Completed/.test(await kubectl("get pods")), { timeoutMs: TIMEOUT_MS });

await using opened = await openTestPage({
  origin,
  timeoutMs: TIMEOUT_MS,
  executablePath: browserIn(machine),
});
const { page } = opened;
await page.setViewportSize(SIZE);
await page.emulateMedia({ colorScheme: "light" });
await page.goto(origin);
await page.getByLabel("Token").fill((await kubectl("create token ann")).trim());
await page.getByRole("button", { name: "Sign in" }).click();
await page.locator(".cards", { hasText: "used" }).waitFor();
await page.locator(".events li").nth(1).waitFor();
await picture(page, "overview");
await show("/graph?namespace=default", ".graph li:has-text('0 of 1 ready')");
await page.locator(".graph li", { hasText: "Node" }).waitFor();
await picture(page, "graph");
await show("/object/core/pods/default/stuck", ".problem");
await picture(page, "pending");
await show("/object/apps/deployments/default/web?tab=yaml", ".yaml .owner");
await picture(page, "yaml");
const [pod = ""] = (await kubectl("get pods -l app=web -o name")).split("\n");
await show(`/terminal/default/${pod.slice("pod/".length)}?container=web`, ".xterm-rows");
await page.locator(".xterm-rows").filter({ hasText: "#" }).waitFor();
await page.keyboard.type("wget -q -O - http://web; ls /\n");
await page.locator(".xterm-rows").filter({ hasText: /Hello/ }).waitFor();
await page
  .locator(".xterm-rows")
  .filter({ hasText: /proc.*#/ })
  .waitFor();
await picture(page, "terminal");
await page.goto(`${origin}/list/core/pods`);
await page.getByRole("link", { name: "stuck" }).waitFor();
await page.getByRole("status").filter({ hasNotText: "loading" }).waitFor();
await page.getByRole("button", { name: "Switch between dark and light" }).click();
await page.keyboard.press(":");
await page.getByLabel("Kind or view").waitFor();
await picture(page, "dark");

async function show(path: string, content: string): Promise<void> {
  await page.goto(origin + path);
  await page.locator("main").locator(content).first().waitFor();
}

async function picture(of: Page, name: string): Promise<void> {
  await of.screenshot({ path: join(IMAGES, `dashboard-${name}.png`) });
}

async function kubectl(line: string, input?: string): Promise<string> {
  const args = ["--kubeconfig", join(data, "kubeconfig"), ...line.split(" ")];
  const { exitCode, stdout, stderr } = await machine.run("kubectl", args, input);
  if (exitCode !== 0) throw new Error(`kubectl ${line}: ${stderr}`);
  return stdout;
}

function browserIn({ dir, enterNetwork }: Machine): string {
  const path = join(dir, "chromium");
  writeFileSync(path, `#!/bin/sh\nexec nsenter ${enterNetwork.join(" ")} /usr/bin/chromium "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
