/**
 * `k8ts join --control-plane`: makes this machine a part of the control plane of a cluster. It gets the
 * cluster's authorities and keys (control-plane-secret.ts) and the flags that all machines share, writes
 * both into its data directory, and starts `k8ts up` there: from then on it is a machine like the first
 * one. With a managed etcd it gets a member of its own, which joins as a learner.
 */
import { existsSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Option } from "commander";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { writeMemberRecord } from "#etcd/member-record.ts";
import { isAuthorityPin } from "#kubelet/bootstrap/authority-pin.ts";
import { parseBootstrapToken } from "#kubelet/bootstrap/bootstrap-token.ts";
import { discoverCluster } from "#kubelet/bootstrap/cluster-info.ts";
import { writePrivateFile } from "#pki/private-file.ts";
import { makeDataDir } from "../apiserver/data-dir.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { serverUrlOf } from "../flags/server-url.ts";
import type { HandedOver } from "../token/upload-control-plane.ts";
import { rememberSettings } from "../up/config/config-file.ts";
import { argumentsOf, type Settings, settingsOf } from "../up/config/settings.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { upCommand } from "../up/up.ts";
import { upOptions } from "../up/up-flags.ts";
import {
  CERTS_SECRET,
  type ControlPlaneFiles,
  decryptFiles,
  isCertificateKey,
  PKI_FILES,
  SETTINGS_FILE,
} from "./control-plane-secret.ts";

/** Flags of this command that `up` does not have. */
const OWN = [
  ...["token", "ca-cert-hash", "unsafe-skip-ca-verification", "node-name", "node-ip"],
  ...["control-plane", "certificate-key"],
];
/** They belong to this start, and are not remembered. */
const OF_START = ["foreground", "data"];

export async function joinControlPlane(
  args: readonly string[],
  joinOptions: readonly Option[],
  signal: AbortSignal,
): Promise<number> {
  const { settings, others } = settingsOf(args, [...joinOptions, ...upOptions()]);
  const [address, ...more] = others;
  if (more.length > 0) throw new FlagError(`unexpected arguments: ${more.join(" ")}`);
  if (address === undefined)
    throw new FlagError("the cluster's address is needed: https://HOST:PORT");
  const server = serverUrlOf(address);
  const dataDir = resolve(textOf(settings.data) ?? defaultDataDir());
  if (existsSync(join(dataDir, "pki")) || existsSync(join(dataDir, "config.yaml"))) {
    throw new FlagError(
      `${dataDir} has a cluster already: \`k8ts up\` starts it, \`k8ts leave\` makes it leave its control plane, \`k8ts down --purge\` removes it`,
    );
  }
  const files = await fetchFiles(server, settings, signal);
  const handedOver = JSON.parse(files[SETTINGS_FILE] ?? "{}") as HandedOver;
  makeDataDir(dataDir);
  const written = writePki(dataDir, files);
  const own = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !OWN.includes(name) && !OF_START.includes(name)),
  );
  const all: Settings = {
    "bind-address": "0.0.0.0",
    "control-plane-endpoint": server,
    ...handedOver.settings,
    ...externalEtcd(written),
    ...(settings["node-ip"] === undefined ? {} : { "advertise-address": settings["node-ip"] }),
    ...own,
  };
  if (handedOver.etcdEndpoints.length > 0) {
    const endpoints = handedOver.etcdEndpoints;
    writeMemberRecord(dataDir, { name: hostname(), endpoints, state: "joining" });
  }
  rememberSettings({ dataDir, settings: all }, upOptions());
  const upArgs = argumentsOf(all, upOptions(), "the cluster's settings");
  const foreground = settings.foreground === true ? ["--foreground"] : [];
  return await upCommand.run([`--data=${dataDir}`, ...foreground, ...upArgs], signal);
}

/** What the cluster hands over, decrypted. */
async function fetchFiles(
  server: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<ControlPlaneFiles> {
  const key = textOf(settings["certificate-key"]);
  if (key === undefined || !isCertificateKey(key)) {
    throw new FlagError("--certificate-key is needed, of 64 hex digits");
  }
  const token = parseBootstrapToken(textOf(settings.token) ?? "");
  if (token === undefined) {
    throw new FlagError("--token is needed, of the form abcdef.0123456789abcdef");
  }
  const pins = [settings["ca-cert-hash"] ?? []].flat().map((pin) => String(pin).toLowerCase());
  if (pins.length === 0 && settings["unsafe-skip-ca-verification"] !== true) {
    throw new FlagError("--ca-cert-hash is needed, or --unsafe-skip-ca-verification");
  }
  const wrong = pins.find((pin) => !isAuthorityPin(pin));
  if (wrong !== undefined) {
    throw new FlagError(`--ca-cert-hash: ${wrong} is not sha256:<64 hex digits>`);
  }
  const { clock, random } = processSurroundings({ logLevel: "info", logFormat: "text" });
  const { authorityPem } = await discoverCluster({ server, token, pins }, clock, signal);
  const connection = { server, ca: authorityPem, token: () => `${token.id}.${token.secret}` };
  using transport = new HttpsTransport(connection, "k8ts-join");
  const client = new Client({ transport, clock, random, fieldManager: "k8ts-join" });
  const found = await client.get(secretKind, CERTS_SECRET, signal);
  if (!found.ok) {
    const isGone = found.status.reason === "NotFound";
    throw new FlagError(
      isGone
        ? "the cluster's keys are not there any more: they are handed over for two hours. Run `k8ts token create --control-plane --print-join-command` again"
        : `the cluster's keys: ${found.status.message}`,
    );
  }
  const files = decryptFiles(found.value.data ?? {}, key);
  if (files === undefined) {
    throw new FlagError(
      "--certificate-key is not the key of the Secret kubeadm-certs, which is replaced by each `k8ts token create --control-plane`",
    );
  }
  return files;
}

/** Answers the names of what it has written. */
function writePki(dataDir: string, files: ControlPlaneFiles): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const [name, path] of Object.entries(PKI_FILES)) {
    const text = files[name];
    if (text === undefined) continue;
    const file = join(dataDir, "pki", path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writePrivateFile(file, text, true);
    written.set(name, file);
  }
  return written;
}

function externalEtcd(written: ReadonlyMap<string, string>): Settings {
  const flags = {
    "etcd-cafile": written.get("external-etcd-ca.crt"),
    "etcd-certfile": written.get("external-etcd.crt"),
    "etcd-keyfile": written.get("external-etcd.key"),
  };
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, file]) => (file === undefined ? [] : [[name, file]])),
  );
}

function textOf(setting: Settings[string] | undefined): string | undefined {
  return typeof setting === "string" && setting !== "" ? setting : undefined;
}
