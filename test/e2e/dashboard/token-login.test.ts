/** The dashboard that `k8ts up` serves: the built program, kubectl, Chromium, and a login by token. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../../tools/debian-packages.ts";
import {
  buildProgram,
  type RunningProgram,
  runProgram,
  startProgram,
} from "../../built-program.ts";
import { openTestPage, type TestPage } from "./browser.ts";

const LIMIT_MS = 60_000;
const VIEWER = "system:serviceaccount:default:viewer";
const missing = missingProgram("chromium") ?? missingProgram("kubectl");

describe.skipIf(missing !== undefined)("dashboard of `k8ts up`, login by token", () => {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-dashboard-up-"));
  const data = join(folder, "data");
  const auditLog = join(folder, "audit.log");
  const policy = join(folder, "audit.yaml");
  const args = ["up", "--foreground", "--no-node", "--port", "0", "--data", data];
  let up: RunningProgram;
  let origin: string;
  let opened: TestPage;

  beforeAll(async () => {
    buildProgram();
    writeFileSync(
      policy,
      "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n",
    );
    up = startProgram([...args, "--audit-log-path", auditLog, "--audit-policy-file", policy]);
    await up.says(/dashboard: http:\S+\/\n/);
    origin = new URL(/dashboard: (\S+)/.exec(up.output())?.[1] ?? "").origin;
    kubectl("create serviceaccount viewer");
    kubectl("create clusterrolebinding viewer --clusterrole=view --serviceaccount=default:viewer");
    kubectl("create configmap settings --from-literal=colour=red");
    opened = await openTestPage({ origin, timeoutMs: LIMIT_MS });
  }, LIMIT_MS);

  afterAll(async () => {
    await opened?.[Symbol.asyncDispose]();
    await up?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  function kubectl(line: string): string {
    const all = ["--kubeconfig", join(data, "kubeconfig"), ...line.split(" ")];
    const { status, stdout, stderr } = spawnSync("kubectl", all, { encoding: "utf8" });
    assert.equal(status, 0, `kubectl ${line}: ${stderr}`);
    return stdout.trim();
  }

  async function post(token: string, headers: Record<string, string>): Promise<number> {
    const answer = await fetch(`${origin}/session`, { method: "POST", body: token, headers });
    await answer.text();
    return answer.status;
  }

  test(
    "login: a wrong token, another origin and a token that is too long are refused",
    async () => {
      const token = kubectl("create token viewer");
      assert.equal(await post("guess", { origin }), 401);
      assert.equal(await post("two\r\nlines", { origin }), 401);
      assert.equal(await post(token, {}), 403);
      assert.equal(await post(token, { origin: "http://evil.example" }), 403);
      assert.equal(await post("x".repeat(20_000), { origin }), 413);
      const { page } = opened;
      await page.goto(origin);
      await page.getByLabel("Token").fill("guess");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("does not accept this token").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "login: the token of a service account opens the cluster with an HttpOnly SameSite=Strict cookie",
    async () => {
      const { page } = opened;
      await page.getByLabel("Token").fill(kubectl("create token viewer"));
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Cluster" }).waitFor();
      const [cookie] = await page.context().cookies();
      assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, "Strict"]);
      await page.goto(`${origin}/object/core/configmaps/default/settings?tab=yaml`);
      await page.getByText("colour: red").waitFor();
    },
    LIMIT_MS,
  );

  test(
    "rights: a viewer may neither read Secrets nor delete",
    async () => {
      const { page } = opened;
      await page.goto(`${origin}/list/core/secrets`);
      await page
        .getByText(/secrets is forbidden: User "system:serviceaccount:default:viewer"/)
        .waitFor();
      await page.goto(`${origin}/object/core/configmaps/default/settings`);
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByText(/"settings" is forbidden/).waitFor();
      await page.keyboard.press("Escape");
      assert.match(kubectl("get configmap settings -o name"), /settings/);
    },
    LIMIT_MS,
  );

  test("audit: the log shows the user, and no token is in it", async () => {
    const lines = readFileSync(auditLog, "utf8")
      .split("\n")
      .filter((line) => line.includes("k8ts-dashboard"));
    const users = lines.map(
      (line) => (JSON.parse(line) as { user: { username?: string } }).user.username,
    );
    assert.deepEqual(
      [...new Set(users)].filter((user) => user !== undefined),
      [VIEWER],
    );
    assert.doesNotMatch(readFileSync(auditLog, "utf8"), /eyJhbGci/);
  });

  test(
    "logout: the session is over, in other tabs too",
    async () => {
      const { page } = opened;
      const other = await page.context().newPage();
      await other.goto(`${origin}/list/core/configmaps`);
      await other.getByRole("link", { name: "settings" }).waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await other.reload();
      await other.getByRole("heading", { name: "Sign in" }).waitFor();
      await other.close();
    },
    LIMIT_MS,
  );

  test(
    "session: deleting the service account ends it at the next request",
    async () => {
      const { page } = opened;
      kubectl("create serviceaccount leaver");
      await page.getByLabel("Token").fill(kubectl("create token leaver"));
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Cluster" }).waitFor();
      kubectl("delete serviceaccount leaver");
      await page.goto(`${origin}/list/core/configmaps`);
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
    },
    LIMIT_MS,
  );

  test(
    "`k8ts status` shows the URL; --no-dashboard serves none",
    async () => {
      assert.match(
        runProgram(["status", "--data", data]).stdout,
        new RegExp(`dashboard +${origin}/`),
      );
      assert.deepEqual(opened.problems, []);
      assert.deepEqual(opened.elsewhere, []);
      await up.end("SIGTERM");
      await using without = startProgram([...args, "--no-dashboard"]);
      await without.says(/ready in/);
      assert.doesNotMatch(without.output(), /dashboard:/);
      await assert.rejects(fetch(origin));
    },
    LIMIT_MS,
  );
});
