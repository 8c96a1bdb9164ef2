/** The dashboard in Debian's Chromium, on a real API server with controllers and simulated nodes. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { ApiAccess } from "#dashboard/api-access.ts";
import { type DashboardServer, startDashboardServer } from "#dashboard/dashboard-server.ts";
import { LinkLogin } from "#dashboard/login/link-login.ts";
import { Sessions } from "#dashboard/login/sessions.ts";
import { readWebFiles } from "#dashboard/web-files.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Cluster, startCluster } from "#testing/test-cluster.ts";
import { buildWeb } from "../../../tools/build-web.ts";
import { missingProgram } from "../../../tools/debian-packages.ts";
import { until } from "../node/eventually.ts";
import { accessibilityViolations } from "./accessibility.ts";
import { openTestPage, type TestPage } from "./browser.ts";

const LIMIT_MS = 90_000;
const HOSTILE = '<img src=x onerror="globalThis.hacked = true">';

const missing = missingProgram("chromium");

describe.skipIf(missing !== undefined)("dashboard in a browser", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-dashboard-"));
  const life = new AbortController();
  let cluster: Cluster;
  let api: ApiAccess;
  let server: DashboardServer;
  let login: LinkLogin;
  let opened: TestPage;
  let page: Page;

  beforeAll(async () => {
    await buildWeb(join(folder, "web"));
    cluster = await startCluster({ clock: "real", nodes: 2 });
    await cluster.apply(OBJECTS);
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, await cluster.kubeconfig());
    api = new ApiAccess(connectionFromFile(kubeconfig));
    const secrets = { clock: systemClock, newSecret: () => systemRandom.uuid() };
    const sessions = new Sessions(secrets);
    login = new LinkLogin({ api, ...secrets });
    const read = readWebFiles(join(folder, "web"));
    const files = () => read;
    const common = { clock: systemClock, random: systemRandom, logger: silentLogger };
    server = await startDashboardServer(
      { login, sessions, files, port: 0, ...common },
      life.signal,
    );
    opened = await openTestPage({ origin: server.origin, timeoutMs: LIMIT_MS });
    page = opened.page;
    await page.goto(`${server.origin}/#token=${login.newToken()}`);
    await page.getByRole("heading", { name: "Cluster" }).waitFor();
  }, LIMIT_MS);

  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    life.abort();
    await server?.[Symbol.asyncDispose]();
    api?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  function colour(): string | undefined {
    const maps = cluster.list<ConfigMap>(configMapKind);
    return maps.find(({ metadata }) => metadata?.name === "settings")?.data?.colour;
  }

  test("login: the token leaves the URL, the cookie is HttpOnly and SameSite=Strict", async () => {
    assert.equal(page.url(), `${server.origin}/`);
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
  });

  test(
    "overview: nodes are shown",
    async () => {
      await page.locator("main .nodes li").nth(1).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "list of pods: a pod of a new Deployment appears by watch",
    async () => {
      await page.getByRole("link", { name: "Pod", exact: true }).click();
      await page.getByRole("heading", { name: "Pod" }).waitFor();
      await cluster.apply(DEPLOYMENT);
      await page.getByRole("link", { name: /^web-/ }).nth(1).waitFor();
      await page.getByRole("columnheader", { name: "Restarts" }).waitFor();
      await page.getByLabel("Filter", { exact: true }).fill("no-such-pod");
      await page.getByText("0 of 2").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "list of Secrets: a table of 1,000 rows has elements for the rows in view only, wherever it is scrolled to",
    async () => {
      await cluster.apply(numberedSecrets(1_000));
      await page.goto(`${server.origin}/list/core/secrets?namespace=many`);
      await page.getByText("1,000 of 1,000").waitFor();
      for (const [scrollPx, row] of [
        [16_000, 500],
        [100_000, 999],
        [0, 0],
      ]) {
        await page.locator("section.grid").evaluate((grid, top) => {
          grid.scrollTop = top;
        }, scrollPx!);
        const shown = page.locator(`tr[aria-rowindex="${row! + 1}"]`);
        await shown.getByRole("link", { name: secretName(row!) }).waitFor();
        assert.equal((await shown.boundingBox())?.height, 32);
        assert.ok((await page.locator("section.grid tbody tr").count()) < 80);
      }
    },
    LIMIT_MS,
  );

  test(
    "keyboard: from the filter of a list by arrow keys to a row, Enter opens the object",
    async () => {
      await page.goto(`${server.origin}/list/core/secrets?namespace=many&order=-0&wide=1`);
      await page.getByRole("columnheader", { name: "Name ▼" }).waitFor();
      assert.equal(await page.getByLabel("wide").isChecked(), true);
      await page.getByText("1,000 of 1,000").waitFor();
      await page.keyboard.press("/");
      for (let row = 0; row < 40; row++) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: secretName(1_000 - 39) }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "phone: no view is wider than a screen of 390 pixels",
    async () => {
      await page.setViewportSize({ width: 390, height: 844 });
      try {
        for (const [view, content] of VIEWS) {
          await page.goto(server.origin + view);
          await page.locator("main").locator(content).first().waitFor();
          for (const element of ["document.scrollingElement", "document.querySelector('main')"]) {
            const width = await page.evaluate<number>(`${element}.scrollWidth`);
            assert.ok(width <= 390, `${view}: ${element} has ${width} pixels`);
          }
        }
      } finally {
        await page.setViewportSize({ width: 1280, height: 800 });
      }
    },
    LIMIT_MS,
  );

  test(
    "object: YAML shows the owners of fields, edit is checked by dry run and saved",
    async () => {
      await page.goto(`${server.origin}/object/core/configmaps/default/settings?tab=yaml`);
      await page.getByText("colour: red").waitFor();
      await page.locator(".owner", { hasText: "k8ts-test" }).first().waitFor();
      await page.getByRole("tab", { name: "edit" }).click();
      const editor = page.getByLabel("YAML of the object");
      await editor.getByText("red").dblclick();
      await page.keyboard.type("blue");
      await page.getByRole("button", { name: "Check and show the difference" }).click();
      await page.locator(".difference .added", { hasText: "colour: blue" }).waitFor();
      assert.equal(colour(), "red");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved.").waitFor();
      assert.equal(colour(), "blue");
    },
    LIMIT_MS,
  );

  test(
    "keyboard: a colon typed into the YAML editor is text, not the command palette",
    async () => {
      await page.goto(`${server.origin}/object/core/configmaps/default/settings?tab=edit`);
      const editor = page.getByLabel("YAML of the object");
      await editor.getByText("blue").dblclick();
      await page.keyboard.type("dark:blue");
      await editor.getByText("dark:blue").waitFor();
      assert.equal(await page.getByLabel("Kind or view").count(), 0);
    },
    LIMIT_MS,
  );

  test(
    "edit: an object that was changed meanwhile is a conflict, and its current state can be taken",
    async () => {
      await page.goto(`${server.origin}/object/core/configmaps/default/settings?tab=edit`);
      const editor = page.getByLabel("YAML of the object");
      await editor.getByText("blue").dblclick();
      await page.keyboard.type("green");
      await cluster.apply(SETTINGS.replace("red", "yellow"));
      await page.getByText("The object has changed since.").waitFor();
      await page.getByRole("button", { name: "Check and show the difference" }).click();
      await page.getByText(/the object has been modified; please apply your changes/).waitFor();
      assert.equal(colour(), "yellow");
      await page.getByRole("button", { name: "Take its current state" }).click();
      await editor.getByText("yellow").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "edit: fields and values of the OpenAPI schema are completed",
    async () => {
      await page.goto(`${server.origin}/object/apps/deployments/default/web?tab=edit`);
      const editor = page.getByLabel("YAML of the object");
      await editor.getByText("replicas").first().click();
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      await page.keyboard.type("pau");
      await page.getByRole("option", { name: /paused/ }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.type(" t");
      await page.getByRole("option", { name: "true" }).waitFor();
      await page.keyboard.press("Tab");
      await page.getByRole("button", { name: "Check and show the difference" }).click();
      await page.locator(".difference .added", { hasText: "paused: true" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "history: undo of a rollout shows the difference first",
    async () => {
      await cluster.apply(DEPLOYMENT.replace("image: web", "image: broken"));
      await page.goto(`${server.origin}/object/apps/deployments/default/web?tab=history`);
      await page.getByRole("cell", { name: "broken" }).waitFor();
      await page.getByRole("button", { name: "Undo to revision 1" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.locator(".added", { hasText: "image: web" }).waitFor();
      await dialog.getByRole("button", { name: "Undo to revision 1" }).click();
      await page.getByRole("button", { name: "Undo to revision 2" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "related: a Deployment lists its ReplicaSets and pods, a pod leads to its node",
    async () => {
      await page.goto(`${server.origin}/object/apps/deployments/default/web?tab=related`);
      const pods = page.getByRole("region", { name: "Pods", exact: true });
      const replicaSets = page.getByRole("region", { name: "ReplicaSets", exact: true });
      await replicaSets.getByRole("link", { name: /^web-/ }).first().waitFor();
      await pods.getByRole("link", { name: /^web-/ }).first().click();
      await page.getByRole("tab", { name: "related" }).click();
      await page.getByRole("link", { name: /^Node / }).click();
      await page.getByRole("button", { name: "Drain" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "drain: the preview names what happens to each pod, then the node is cordoned and emptied",
    async () => {
      await page.goto(`${server.origin}/list/core/nodes`);
      await page.locator("main table a, main [role=row] a").first().click();
      await page.getByRole("button", { name: "Drain" }).click();
      await cluster.apply(
        BARE_POD.replace("NODE", (await page.locator("main h1").textContent()) ?? ""),
      );
      const dialog = page.getByRole("dialog");
      await dialog.getByText("cannot be evicted: no controller would make it anew").waitFor();
      assert.equal(await dialog.getByRole("button", { name: /^Drain/ }).isDisabled(), true);
      await dialog.getByLabel("evict pods without a controller").check();
      await dialog
        .getByText(/is evicted, its budgets allow it/)
        .first()
        .waitFor();
      await dialog.getByRole("button", { name: /^Drain/ }).click();
      await dialog.getByText("The node is drained.").waitFor();
      await dialog.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Uncordon" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "actions: Restart and Pause of a Deployment",
    async () => {
      const web = `${server.origin}/object/apps/deployments/default/web`;
      await page.goto(web);
      await act("Restart");
      await act("Pause");
      await act("Resume");
      await page.getByRole("button", { name: "Pause" }).waitFor();
      await page.goto(`${web}?tab=yaml`);
      await page.getByText("kubectl.kubernetes.io/restartedAt:").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "actions: Trigger and Suspend of a CronJob",
    async () => {
      await cluster.apply(CRON_JOB);
      await page.goto(`${server.origin}/object/batch/cronjobs/default/tick?tab=related`);
      await act("Trigger");
      await page.getByRole("link", { name: /^tick-\d+$/ }).click();
      await page.getByText("cronjob.kubernetes.io/instantiate=manual").waitFor();
      await page.getByText("team=shop").waitFor();
      await page.getByRole("link", { name: "CronJob tick" }).click();
      await act("Suspend");
      await page.getByRole("button", { name: "Resume" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "actions: Evict and Delete of pods",
    async () => {
      for (const action of ["Evict", "Delete"]) {
        await page.goto(`${server.origin}/list/core/pods?filter=web`);
        await page.getByRole("link", { name: /^web-/ }).first().click();
        await act(action);
        await page.getByText("This object does not exist.").waitFor();
      }
    },
    LIMIT_MS,
  );

  test(
    "pod without a node: the reasons of the scheduler are shown",
    async () => {
      await cluster.apply(UNSCHEDULABLE);
      await page.goto(`${server.origin}/object/core/pods/default/stuck`);
      const said = page.getByText("The scheduler found no node (Unschedulable)");
      await said.filter({ hasText: "didn't match Pod's node affinity/selector" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "list of a custom resource: the columns of its CustomResourceDefinition",
    async () => {
      await cluster.apply(WIDGETS);
      await until(async () => {
        const applied = await cluster.apply(WIDGET).then(
          () => true,
          () => false,
        );
        return applied;
      });
      await page.goto(`${server.origin}/list/example.com/widgets`);
      await page.getByRole("columnheader", { name: "Size" }).waitFor();
      await page.getByRole("link", { name: "first" }).click();
      await page.getByRole("heading", { name: "first" }).waitFor();
    },
    LIMIT_MS,
  );

  /** Asks for an action of the object that is shown, and confirms it once the server would accept it. */
  async function act(name: string): Promise<void> {
    await page.getByRole("toolbar").getByRole("button", { name, exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name, exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  }

  test(
    "accessibility: no view breaks a rule of axe-core, in dark and light",
    async () => {
      const violations: string[] = [];
      for (const [view, content] of VIEWS) {
        await page.goto(server.origin + view);
        await page.locator("main").locator(content).first().waitFor();
        violations.push(...(await accessibilityViolations(page, view)));
        await page.getByRole("button", { name: "Switch between dark and light" }).click();
        const rules = ["color-contrast", "link-in-text-block"];
        violations.push(...(await accessibilityViolations(page, `${view}, other theme`, rules)));
      }
      await page.keyboard.press(":");
      await page.getByLabel("Kind or view").waitFor();
      violations.push(...(await accessibilityViolations(page, "palette")));
      assert.deepEqual(violations, []);
    },
    LIMIT_MS,
  );

  test(
    "object: hostile annotations and data are shown as text",
    async () => {
      await page.goto(`${server.origin}/object/core/configmaps/default/hostile`);
      await page.getByText(HOSTILE).first().waitFor();
      await page.getByRole("tab", { name: "yaml" }).click();
      await page.locator(".yaml").getByText(HOSTILE).first().waitFor();
      assert.equal(await page.locator("main img").count(), 0);
      assert.equal(await page.evaluate("globalThis.hacked"), undefined);
    },
    LIMIT_MS,
  );

  test(
    "object: values of a Secret are hidden until asked for",
    async () => {
      await page.goto(`${server.origin}/object/core/secrets/default/password?tab=yaml`);
      const value = Buffer.from("hunter2").toString("base64");
      await page.getByText("••••••••").first().waitFor();
      assert.equal(await page.getByText(value).count(), 0);
      await page.getByRole("button", { name: "Show values" }).click();
      await page.getByText(value).first().waitFor();
    },
    LIMIT_MS,
  );

  test(
    "action: scale a Deployment with a dry run first",
    async () => {
      await page.goto(`${server.origin}/object/apps/deployments/default/web`);
      await page.getByLabel("Replicas").fill("3");
      await page.getByRole("button", { name: "Scale" }).click();
      await page.getByText("The server would accept it.").waitFor();
      await page.getByRole("button", { name: "Scale to 3" }).click();
      await page.goto(`${server.origin}/graph?namespace=default`);
      await page.locator(".graph li", { hasText: "Pod" }).nth(2).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "graph: a Service shows how many endpoints are ready, one without a selector shows its addresses",
    async () => {
      await cluster.apply(SERVICES);
      await page.goto(`${server.origin}/graph?namespace=default`);
      const shown = page.locator(".graph li");
      await shown.filter({ hasText: "Service · 3 of 3 ready" }).waitFor();
      await shown.filter({ hasText: "Service · 1 of 2 ready" }).waitFor();
      await page.locator(".graph li.unhealthy", { hasText: "192.0.2.2" }).waitFor();
      assert.equal(await page.locator(".graph path.pending").count(), 1);
      await page.getByRole("link", { name: "192.0.2.1" }).click();
      await page.getByRole("heading", { name: "database-1" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "palette: `:svc` opens the list of Services",
    async () => {
      await page.keyboard.press(":");
      await page.getByLabel("Kind or view").fill("svc");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Service" }).waitFor();
    },
    LIMIT_MS,
  );

  test("security: without a session nothing of the cluster is answered", async () => {
    const answers = await Promise.all([
      fetch(`${server.origin}/k8s/api/v1/pods`),
      fetch(`${server.origin}/session`, { method: "POST", body: "x" }),
      fetch(`${server.origin}/session`, {
        method: "POST",
        body: "x",
        headers: { origin: server.origin },
      }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 403, 401],
    );
    const { headers } = await fetch(server.origin);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'.*script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.equal(headers.get("x-frame-options"), "DENY");
  });

  test("security: no request left for elsewhere, no script failed, nothing broke the CSP", () => {
    const { elsewhere, problems } = opened;
    assert.deepEqual({ elsewhere, problems }, { elsewhere: [], problems: [] });
  });
});

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata:
      labels: { app: web }
    spec: { containers: [{ name: web, image: web }] }
`;

/** `database` is outside of the cluster. */
const SERVICES = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
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
endpoints:
  - { addresses: [192.0.2.1] }
  - { addresses: [192.0.2.2], conditions: { ready: false } }
ports: [{ port: 5432 }]
`;

const CRON_JOB = `
apiVersion: batch/v1
kind: CronJob
metadata: { name: tick, namespace: default }
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    metadata: { annotations: { team: shop } }
    spec:
      template:
        spec: { restartPolicy: Never, containers: [{ name: tick, image: tick }] }
`;

const UNSCHEDULABLE = `
apiVersion: v1
kind: Pod
metadata: { name: stuck, namespace: default }
spec: { nodeSelector: { disk: fast }, containers: [{ name: stuck, image: stuck }] }
`;

const WIDGETS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  names: { kind: Widget, plural: widgets }
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
      additionalPrinterColumns: [{ name: Size, type: integer, jsonPath: .size }]
`;

const WIDGET = `
apiVersion: example.com/v1
kind: Widget
metadata: { name: first }
size: 3
`;

const BARE_POD = `
apiVersion: v1
kind: Pod
metadata: { name: bare, namespace: default }
spec: { nodeName: NODE, containers: [{ name: bare, image: bare }] }
`;

/** The addresses of views, and what they show once they have their objects. */
const VIEWS: readonly (readonly [path: string, content: string])[] = [
  ["/", ".nodes li"],
  ["/graph?namespace=default", ".graph li"],
  ["/list/core/pods", "tbody a"],
  ["/list/core/events", "tbody a"],
  ["/object/apps/deployments/default/web", "section[aria-label=Conditions]"],
  ["/object/apps/deployments/default/web?tab=yaml", ".yaml .owner"],
  ["/object/apps/deployments/default/web?tab=edit", "text=replicas"],
  ["/object/apps/deployments/default/web?tab=events", ".events li"],
  ["/object/apps/deployments/default/web?tab=history", "tbody tr"],
  ["/object/apps/deployments/default/web?tab=related", "tbody a"],
  ["/object/core/secrets/default/password?tab=yaml", ".yaml .owner"],
  ["/object/core/configmaps/default/missing", ".notice"],
  ["/terminal/default/missing?container=web&mode=debug", "h1"],
];

const SETTINGS = `
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: default }
data: { colour: red }
`;

const OBJECTS = `${SETTINGS}---
apiVersion: v1
kind: ConfigMap
metadata:
  name: hostile
  namespace: default
  annotations: { note: ${JSON.stringify(HOSTILE)} }
data: { ${JSON.stringify("page")}: ${JSON.stringify(HOSTILE)} }
---
apiVersion: v1
kind: Secret
metadata: { name: password, namespace: default }
stringData: { value: hunter2 }
`;

function secretName(index: number): string {
  return `numbered-${String(index).padStart(4, "0")}`;
}

/** In a namespace of their own. */
function numberedSecrets(count: number): string {
  const maps = Array.from(
    { length: count },
    (_, index) =>
      `{ apiVersion: v1, kind: Secret, metadata: { name: ${secretName(index)}, namespace: many } }`,
  );
  return ["{ apiVersion: v1, kind: Namespace, metadata: { name: many } }", ...maps].join("\n---\n");
}
