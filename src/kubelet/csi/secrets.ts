/** Secrets and tokens that drivers are given. */
import type { CSIDriver } from "#api/generated/storage.v1.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { goMapJson } from "#api/meta/go-json.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Client } from "#client/client.ts";
import {
  VolumeError,
  type VolumeRequest,
  type VolumeTools,
} from "#kubelet/volumes/volume-plugin.ts";

type Strings = Readonly<Record<string, string>>;

interface SecretRef {
  readonly namespace?: string;
  readonly name?: string;
}

/** `field`: which one of the volume refers to it, for the message. */
export async function readSecret(
  client: Client,
  ref: SecretRef | undefined,
  field: string,
): Promise<Strings> {
  const { namespace = "", name = "" } = ref ?? {};
  if (name === "") return {};
  const found = await client.get(secretKind, { namespace, name });
  if (!found.ok) {
    const why = found.status.message ?? "";
    throw new VolumeError(`fetching ${field} ${namespace}/${name} failed: ${why}`);
  }
  const entries = Object.entries(found.value.data ?? {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

/** For NodePublishVolume: the pod's tokens are among the secrets or in the volume context. */
export async function publishSecrets(
  { pod, volume, persistentVolume }: VolumeRequest,
  object: CSIDriver | undefined,
  { client, tokens }: VolumeTools,
): Promise<{ readonly secrets: Strings; readonly context: Strings }> {
  const inline = volume.csi?.nodePublishSecretRef;
  const ref =
    persistentVolume?.spec.csi?.nodePublishSecretRef ??
    (inline === undefined
      ? undefined
      : { namespace: pod.metadata.namespace ?? "", name: inline.name ?? "" });
  const secrets = await readSecret(client, ref, "NodePublishSecretRef");
  const requests = object?.spec.tokenRequests ?? [];
  if (requests.length === 0) return { secrets, context: {} };
  const given: Record<string, object> = {};
  for (const { audience, expirationSeconds } of requests) {
    const { token, expiresAtMs } = await tokens.get(pod, { audience, expirationSeconds });
    given[audience] = { token, expirationTimestamp: timeFromMs(expiresAtMs) };
  }
  const attribute = { "csi.storage.k8s.io/serviceAccount.tokens": goMapJson(given) };
  return object?.spec.serviceAccountTokenInSecrets
    ? { secrets: { ...secrets, ...attribute }, context: {} }
    : { secrets, context: attribute };
}
