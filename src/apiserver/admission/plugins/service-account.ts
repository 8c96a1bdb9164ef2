/** Every pod has a service account that exists, and gets its token and its pull secrets. */

import type {
  Container,
  Pod,
  ServiceAccount,
  Volume,
  VolumeMount,
} from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { podSecretNames } from "#api/kinds/core/v1/pod/references.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { failure, notFoundStatus, type Result, success } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../../storage/objects.ts";
import { generatedName } from "../../write/object-metadata.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withFields, withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";
import { invalidPathName } from "./invalid-path-name.ts";

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
      const pod = objectOfKind(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      if (isMirror(pod)) return refusedBy(mirrorFault(request, pod));
      const serviceAccountName = pod.spec.serviceAccountName || "default";
      return andThen(findAccount(request, serviceAccountName, objects, clock), (found) => {
        if (!found.ok) return found;
        const account = found.value;
        const next = withSpec(pod, {
          serviceAccountName,
          ...(wantsToken(pod, account) ? tokenMounts(pod, random) : {}),
          ...pullSecrets(pod, account),
        });
        return refusedBy(secretsFault(request, next, account)) ?? success(next);
      });
    },
    validate(request, { objects }) {
      const added = objectOfKind(request, podKind, ["UPDATE"], "ephemeralcontainers");
      const pod = added ?? objectOfKind(request, podKind, ["CREATE"]);
      if (pod === undefined) return;
      if (added === undefined && isMirror(pod)) return mirrorFault(request, pod);
      const name = pod.spec.serviceAccountName ?? "";
      if (name === "") {
        const where = `${request.namespace}/${pod.metadata.name ?? ""}`;
        return refuse(request, `no service account specified for pod ${where}`);
      }
      return andThen(findAccount(request, name, objects, clock), (found) =>
        found.ok ? secretsFault(request, pod, found.value) : found.status,
      );
    },
  };
}

/** A mirror pod describes a static pod that is running already; nothing can be added to it. */
function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[MIRROR] !== undefined;
}

function mirrorFault(request: AdmissionRequest, pod: Pod): Status | undefined {
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

function refusedBy(status: Status | undefined): Result<never> | undefined {
  return status === undefined ? undefined : failure(status);
}

/** The default account of a new namespace is waited for. */
function findAccount(
  request: AdmissionRequest,
  name: string,
  objects: Objects,
  clock: Clock,
): MaybePromise<Result<ServiceAccount>> {
  const { namespace } = request;
  const missing = (): Result<never> => {
    const { message } = notFoundStatus({ group: "", resource: "serviceaccount" }, name);
    const why = invalidPathName(name) ?? message;
    const where = `${namespace}/${name}`;
    return failure(refuse(request, `error looking up service account ${where}: ${why}`));
  };
  const found = objects.get(serviceAccountKind, namespace, name);
  if (found !== undefined) return success(found);
  if (name !== "default") return missing();
  return waitForAccount(namespace, objects, clock).then((account) =>
    account === undefined ? missing() : success(account),
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
function wantsToken({ spec }: Pod, account: ServiceAccount): boolean {
  return spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
}

/** What a pod gets whose containers find the account's token under the usual path. */
function tokenMounts({ spec }: Pod, random: Random): Partial<Pod["spec"]> {
  const { volumes = [], initContainers = [] } = spec;
  const containers = spec.containers ?? [];
  const there = volumes.find(({ name }) => name.startsWith(VOLUME_PREFIX))?.name;
  const name = there ?? generatedName(VOLUME_PREFIX, random);
  const lacks = ({ volumeMounts = [] }: Container): boolean =>
    !volumeMounts.some(({ mountPath }) => mountPath === MOUNT_PATH);
  const mounted = (container: Container): Container => {
    if (!lacks(container)) return container;
    const mount: VolumeMount = { name, readOnly: true, mountPath: MOUNT_PATH };
    return withFields(container, { volumeMounts: [...(container.volumeMounts ?? []), mount] });
  };
  const [inInit, inMain] = [initContainers.some(lacks), containers.some(lacks)];
  return {
    ...(inInit ? { initContainers: initContainers.map(mounted) } : {}),
    ...(inMain ? { containers: containers.map(mounted) } : {}),
    ...((inInit || inMain) && there === undefined
      ? { volumes: [...volumes, { name, projected: tokenProjection() }] }
      : {}),
  };
}

function pullSecrets({ spec }: Pod, account: ServiceAccount): Partial<Pod["spec"]> {
  if (spec.imagePullSecrets?.length || !account.imagePullSecrets?.length) return {};
  return {
    imagePullSecrets: account.imagePullSecrets.map(({ name }) =>
      name === undefined ? {} : { name },
    ),
  };
}

function tokenProjection(): NonNullable<Volume["projected"]> {
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
  { spec }: Pod,
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
