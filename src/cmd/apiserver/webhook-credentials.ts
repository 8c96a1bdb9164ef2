/**
 * What the API server proves itself with to admission webhooks: the kubeconfig file that
 * `--admission-control-config-file` names for the plug-ins ValidatingAdmissionWebhook and
 * MutatingAdmissionWebhook. Its users are named after the hosts that they are for.
 */
import { isAbsolute } from "node:path";
import type { PluginConfigurations } from "#apiserver/admission/configuration.ts";
import {
  type ConfigKind,
  configSchema,
  decodeConfigPart,
  STRING,
} from "#apiserver/config/config-file.ts";
import type { WebhookCall, WebhookCredentials } from "#apiserver/webhook/webhook-client.ts";
import { type UserCredentials, usersFromFile } from "#client/kubeconfig.ts";

const WEBHOOK_ADMISSION: ConfigKind = {
  kind: "WebhookAdmissionConfiguration",
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"],
  schema: configSchema("v1.WebhookAdmission", {
    kubeConfigFile: STRING,
    staticManifestsDir: STRING,
  }),
};

const PLUGINS = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];

/** Throws when a configuration is none. The first of the two plug-ins that has one speaks for both. */
export function webhookCredentials(
  configurations: PluginConfigurations = {},
): WebhookCall["credentialsFor"] {
  const given = PLUGINS.map((name) => configurations[name]).find((one) => one !== undefined);
  if (given === undefined) return undefined;
  const { kubeConfigFile = "", staticManifestsDir = "" } = decodeConfigPart(
    given,
    WEBHOOK_ADMISSION,
  ) as { kubeConfigFile?: string; staticManifestsDir?: string };
  if (staticManifestsDir !== "") {
    throw new Error("staticManifestsDir: the feature ManifestBasedAdmissionControlConfig is off");
  }
  if (kubeConfigFile === "") return undefined;
  if (!isAbsolute(kubeConfigFile)) {
    throw new Error(
      `kubeConfigFile: Invalid value: "${kubeConfigFile}": must be an absolute file path`,
    );
  }
  const { users, current } = usersFromFile(kubeConfigFile);
  return (host, port) => {
    const name = [
      ...namesFor(`${host}:${port}`),
      ...(port === 443 ? namesFor(host) : []),
      "*",
    ].find((one) => users.has(one));
    const user = users.get(name ?? current ?? "");
    return user && credentialsOf(user);
  };
}

/** The name itself, then with more and more of its front replaced by a star. */
function namesFor(target: string): string[] {
  const steps = target.split(".");
  return [target, ...steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join(".")}`)];
}

function credentialsOf(user: UserCredentials): WebhookCredentials {
  const { clientCertificate: cert, clientKey: key, username, password = "" } = user;
  const token = user.token();
  const pair = Buffer.from(`${username ?? ""}:${password}`).toString("base64");
  const authorization = token !== undefined ? `Bearer ${token}` : username && `Basic ${pair}`;
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(authorization === undefined ? {} : { headers: { authorization } }),
  };
}
