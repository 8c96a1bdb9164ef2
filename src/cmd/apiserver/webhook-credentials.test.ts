import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { webhookCredentials } from "./webhook-credentials.ts";

const folder = mkdtempSync(join(tmpdir(), "k8ts-test-hook-credentials-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CONFIGURATION = {
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "WebhookAdmissionConfiguration",
};

function credentialsWith(users: object[], context?: string) {
  const kubeConfigFile = join(folder, "hooks.kubeconfig");
  const contexts = context === undefined ? [] : [{ name: "c", context: { user: context } }];
  const config = { apiVersion: "v1", kind: "Config", users, contexts, "current-context": "c" };
  writeFileSync(kubeConfigFile, JSON.stringify(config));
  const configuration = { ...CONFIGURATION, kubeConfigFile };
  const find = webhookCredentials({ ValidatingAdmissionWebhook: configuration });
  return (host: string, port: number) => find?.(host, port)?.headers?.authorization;
}

const user = (name: string) => ({ name, user: { token: name } });

describe("kubeConfigFile of WebhookAdmissionConfiguration", () => {
  test("the user is chosen by host and port, then by wildcards, then *, then the current context", () => {
    const all = credentialsWith(
      [user("hook.ns.svc:8443"), user("hook.ns.svc"), user("*.ns.svc"), user("*"), user("other")],
      "other",
    );
    assert.equal(all("hook.ns.svc", 8443), "Bearer hook.ns.svc:8443");
    assert.equal(all("hook.ns.svc", 443), "Bearer hook.ns.svc");
    assert.equal(all("b.ns.svc", 443), "Bearer *.ns.svc");
    assert.equal(all("b.ns.svc", 8443), "Bearer *");
    const current = credentialsWith([user("a.svc"), user("other")], "other");
    assert.equal(current("b.svc", 443), "Bearer other");
    assert.equal(credentialsWith([user("a.svc")])("b.svc", 443), undefined);
  });

  test("basic authentication and client certificates", () => {
    const find = credentialsWith([{ name: "*", user: { username: "u", password: "p" } }]);
    assert.equal(find("a", 443), `Basic ${btoa("u:p")}`);
  });

  test("a relative path, an unknown field and staticManifestsDir are refused", () => {
    const refused = (more: object) => () =>
      webhookCredentials({ MutatingAdmissionWebhook: { ...CONFIGURATION, ...more } });
    assert.throws(refused({ kubeConfigFile: "hooks" }), /must be an absolute file path/);
    assert.throws(refused({ nothing: 1 }), /unknown field "nothing"/);
    assert.throws(refused({ staticManifestsDir: "/x" }), /ManifestBasedAdmissionControlConfig/);
  });
});
