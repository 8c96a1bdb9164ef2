/** Every pod has a service account that exists, and gets its token and its pull secrets. */

import type {
  Container,
  Pod,
  ServiceAccount,
  Volume,
  VolumeMount,
} from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podSecretNames } from "#api/kinds/core/v1/pod/references.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { notFoundStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { Objects } from "../../storage/objects.ts";
import { generatedName } from "../../write/object-metadata.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { draftOf } from "../requests.ts";
import { unaskableName } from "./unaskable-name.ts";

const MIRROR = "kubernetes.io/config.mirror";
const ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets";
const VOLUME_PREFIX = "kube-api-access-";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
/** What the kubelet asks for; see token-request.ts. */
const TOKEN_EXPIRATION_SECONDS = 3607;
/** The controller makes the default account a moment after the namespace. */
const DEFAULT_ACCOUNT_WAIT_MS = 1000;

interface Dependencies {
  readonly clock: Clock;
  readonly random: Random;
}

export function serviceAccount({ clock, random }: Dependencies): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    operations: ["CREATE", "UPDATE"],
    admit(request, { objects }) {
      const pod = draftOf(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      if (isMirror(pod)) return mirrorFault(request, pod);
      pod.spec.serviceAccountName ||= "default";
      return withAccount(request, pod, objects, clock, (account) => {
        if (wantsToken(pod, account)) mountToken(pod, random);
        if (!pod.spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
          pod.spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => ({
            ...(name === undefined ? {} : { name }),
          }));
        }
        return secretsFault(request, pod, account);
      });
    },
    validate(request, { objects }) {
      const added = draftOf(request, podKind, ["UPDATE"], "ephemeralcontainers");
      const pod = added ?? draftOf(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      if (added === undefined && isMirror(pod)) return mirrorFault(request, pod);
      const name = pod.spec.serviceAccountName ?? "";
      if (name === "") {
        const where = `${request.namespace}/${pod.metadata.name ?? ""}`;
        return refuse(request, `no service account specified for pod ${where}`);
      }
      return withAccount(request, pod, objects, clock, (account) =>
        secretsFault(request, pod, account),
      );
    },
  };
}

/** A mirror of a static pod tells what is running already; nothing can be added to it. */
function isMirror({ metadata }: Draft<Pod>): boolean {
  return metadata.annotations?.[MIRROR] !== undefined;
}

function mirrorFault(request: AdmissionRequest, pod: Draft<Pod>): Status | undefined {
  if (pod.spec.serviceAccountName) {
    return refuse(request, "a mirror pod may not reference service accounts");
  }
  if (podSecretNames(pod).length > 0) {
    return refuse(request, "a mirror pod may not reference secrets");
  }
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some(({ serviceAccountToken }) => serviceAccountToken !== undefined)
    ? refuse(request, "a mirror pod may not use ServiceAccountToken volume projections")
    : undefined;
}

/** Goes on with the pod's account, at once if it is there. */
function withAccount(
  request: AdmissionRequest,
  { spec }: Draft<Pod>,
  objects: Objects,
  clock: Clock,
  goOn: (account: ServiceAccount) => Status | undefined,
): Status | undefined | Promise<Status | undefined> {
  const { namespace } = request;
  const name = spec.serviceAccountName ?? "";
  const missing = (): Status => {
    const { message } = notFoundStatus({ group: "", resource: "serviceaccount" }, name);
    const why = unaskableName(name) ?? message;
    const where = `${namespace}/${name}`;
    return refuse(request, `error looking up service account ${where}: ${why}`);
  };
  const found = objects.get(serviceAccountKind, namespace, name);
  if (found !== undefined) return goOn(found);
  if (name !== "default") return missing();
  return waitForAccount(namespace, objects, clock).then((account) =>
    account === undefined ? missing() : goOn(account),
  );
}

function waitForAccount(
  namespace: string,
  objects: Objects,
  clock: Clock,
): Promise<ServiceAccount | undefined> {
  const waiting = new AbortController();
  return new Promise((resolve) => {
    const finish = (account: ServiceAccount | undefined): void => {
      waiting.abort();
      timer.cancel();
      resolve(account);
    };
    const timer = clock.schedule(DEFAULT_ACCOUNT_WAIT_MS, () => finish(undefined));
    const look = (account: ServiceAccount | undefined): void => {
      const { name, namespace: home } = account?.metadata ?? {};
      if (name === "default" && home === namespace) finish(account);
    };
    objects.onChange(serviceAccountKind, look, waiting.signal);
  });
}

/** The pod's own word counts most, then the account's. */
function wantsToken({ spec }: Draft<Pod>, account: ServiceAccount): boolean {
  return spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
}

function mountToken({ spec }: Draft<Pod>, random: Random): void {
  const volumes = spec.volumes ?? [];
  const there = volumes.find(({ name }) => name.startsWith(VOLUME_PREFIX))?.name;
  const name = there ?? generatedName(VOLUME_PREFIX, random);
  const mount: VolumeMount = { name, readOnly: true, mountPath: MOUNT_PATH };
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const lacking = containers.filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === MOUNT_PATH),
  );
  for (const container of lacking) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { ...mount }];
  }
  if (there !== undefined || lacking.length === 0) return;
  spec.volumes = [...volumes, { name, projected: tokenProjection() }];
}

function tokenProjection(): Draft<NonNullable<Volume["projected"]>> {
  return {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: TOKEN_EXPIRATION_SECONDS } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [
            { path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
          ],
        },
      },
    ],
  };
}

/** Accounts may allow only the secrets that they list. */
function secretsFault(
  request: AdmissionRequest,
  { spec }: Draft<Pod>,
  account: ServiceAccount,
): Status | undefined {
  if (!/^(1|t|T|TRUE|true|True)$/.test(account.metadata.annotations?.[ENFORCE_SECRETS] ?? "")) {
    return undefined;
  }
  const { name } = account.metadata;
  const listed = new Set(account.secrets?.map((secret) => secret.name ?? ""));
  const notListed = `is not allowed because service account ${name} does not reference that secret`;
  const fault = (text: string): Status => refuse(request, text);
  if (request.subresource === "ephemeralcontainers") {
    const found = containerSecretFault("ephemeral container", spec.ephemeralContainers, listed);
    return found === undefined ? undefined : fault(`${found} ${notListed}`);
  }
  for (const { secret } of spec.volumes ?? []) {
    if (secret !== undefined && !listed.has(secret.secretName ?? "")) {
      return fault(`volume with secret.secretName="${secret.secretName}" ${notListed}`);
    }
  }
  const found =
    containerSecretFault("init container", spec.initContainers, listed) ??
    containerSecretFault("container", spec.containers, listed);
  if (found !== undefined) return fault(`${found} ${notListed}`);
  const pulls = new Set(account.imagePullSecrets?.map((secret) => secret.name ?? ""));
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    if (pulls.has(secret.name ?? "")) continue;
    return fault(
      `imagePullSecrets[${index}].name="${secret.name}" is not allowed because service account ` +
        `${name} does not reference that imagePullSecret`,
    );
  }
  return undefined;
}

function containerSecretFault(
  what: string,
  containers: readonly Pick<Container, "name" | "env" | "envFrom">[] | null | undefined,
  listed: ReadonlySet<string>,
): string | undefined {
  for (const { name, env = [], envFrom = [] } of containers ?? []) {
    for (const { name: variable, valueFrom } of env) {
      const secret = valueFrom?.secretKeyRef?.name;
      if (secret === undefined || listed.has(secret)) continue;
      return `${what} ${name} with envVar ${variable} referencing secret.secretName="${secret}"`;
    }
    for (const { secretRef } of envFrom) {
      const secret = secretRef?.name;
      if (secret === undefined || listed.has(secret)) continue;
      return `${what} ${name} with envFrom referencing secret.secretName="${secret}"`;
    }
  }
  return undefined;
}
