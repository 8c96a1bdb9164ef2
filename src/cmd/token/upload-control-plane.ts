/** Puts what a new control-plane machine needs into the Secret kubeadm-certs, encrypted. */
import { join } from "node:path";
import type { Secret } from "#api/generated/core.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import type { Client } from "#client/client.ts";
import { readMemberRecord } from "#etcd/member-record.ts";
import { networkMarks } from "#network/network-marks.ts";
import { readPrivateFile } from "#pki/private-file.ts";
import { answerOf } from "../component/ensure-object.ts";
import { FlagError } from "../flags/parse-flags.ts";
import {
  CERTS_SECRET,
  type ControlPlaneFiles,
  encryptFiles,
  PKI_FILES,
  SETTINGS_FILE,
} from "../join/control-plane-secret.ts";
import { sharedSettings } from "../join/shared-settings.ts";
import { configuredStart } from "../up/config/config-file.ts";
import type { Settings } from "../up/config/settings.ts";
import { parseUpFlags, upOptions } from "../up/up-flags.ts";

/** What the machines must agree on beside keys. */
export interface HandedOver {
  readonly settings: Settings;
  /** Client addresses of the managed etcd's members; none with an etcd of the user's own. */
  readonly etcdEndpoints: readonly string[];
  /** Flags that name files, which are not handed over. */
  readonly fileFlags: readonly string[];
}

/** `owner` is the token whose end is the end of the Secret. */
export async function uploadControlPlane(
  client: Client,
  dataDir: string,
  certificateKey: string,
  owner: Secret,
  signal: AbortSignal,
): Promise<HandedOver> {
  const { files, handedOver } = controlPlaneFiles(dataDir);
  const { uid = "", name = "" } = owner.metadata;
  const secret: Secret = {
    ...{ apiVersion: "v1", kind: "Secret" },
    metadata: {
      ...CERTS_SECRET,
      ownerReferences: [
        { apiVersion: "v1", kind: "Secret", name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    data: encryptFiles(files, certificateKey),
  };
  const old = await client.delete(secretKind, CERTS_SECRET, {}, signal);
  if (!old.ok && old.status.reason !== "NotFound") answerOf(old, CERTS_SECRET.name);
  answerOf(await client.create(secretKind, secret, {}, signal), CERTS_SECRET.name);
  return handedOver;
}

function controlPlaneFiles(dataDir: string): { files: ControlPlaneFiles; handedOver: HandedOver } {
  const options = upOptions();
  const start = configuredStart([`--data=${dataDir}`], options);
  const { server, etcd } = parseUpFlags(start.args);
  if (server.etcdServers.length === 0) {
    throw new FlagError(
      "the store of this cluster is embedded and belongs to one machine: start it with --etcd managed, which takes its objects along, or with --etcd-servers",
    );
  }
  const given: Readonly<Record<string, string | undefined>> =
    etcd === undefined
      ? {
          "external-etcd-ca.crt": server.etcdCafile,
          "external-etcd.crt": server.etcdCertfile,
          "external-etcd.key": server.etcdKeyfile,
        }
      : {};
  const files: Record<string, string> = {};
  for (const [name, path] of Object.entries(PKI_FILES)) {
    const text = readPrivateFile(given[name] ?? join(dataDir, "pki", path));
    if (text !== undefined) files[name] = text;
  }
  if (files["ca.key"] === undefined) {
    throw new FlagError(`${join(dataDir, "pki", "ca.key")} is needed to hand it over`);
  }
  const { shared, files: fileFlags } = sharedSettings(start.settings, options);
  const vni = String(networkMarks(dataDir).vni);
  const handedOver: HandedOver = {
    settings: { "vxlan-id": vni, ...shared },
    etcdEndpoints: etcd === undefined ? [] : (readMemberRecord(dataDir)?.endpoints ?? []),
    fileFlags,
  };
  files[SETTINGS_FILE] = JSON.stringify(handedOver);
  return { files, handedOver };
}
