/**
 * Issues tokens for service accounts: what a POST to `serviceaccounts/NAME/token` does. Requests come
 * with their defaults.
 */
import { createPrivateKey } from "node:crypto";
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { ServiceAccount } from "#api/generated/core.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { validateTokenRequest } from "#api/kinds/authentication/v1/reviews.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  conflictStatus,
  failure,
  invalidStatus,
  notFoundStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Objects } from "../storage/objects.ts";
import { type Claims, signToken } from "./jwt.ts";
import { serviceAccountUserName } from "./users.ts";

export interface TokenIssuerOptions {
  readonly signingKeyPem: string;
  readonly issuer: string;
  /** The audience of tokens whose request has none. */
  readonly audiences: readonly string[];
  /** 0: no limit. */
  readonly expirationSecondsMax: number;
  /** Tokens of pods that ask for the usual time live on for a year, with a warning after that time. */
  readonly extendExpiration: boolean;
  readonly objects: Objects;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
}

export type IssueToken = (
  request: TokenRequest,
  namespace: string,
  name: string,
  warn: (text: string) => void,
) => Result<TokenRequest>;

const GROUP = "authentication.k8s.io";
const KIND = { group: GROUP, kind: "TokenRequest" };
/** Kubelets request this odd expiration as a marker that the pod did not choose it. */
const KUBELET_EXPIRATION_SECONDS = 3607;
const EXTENDED_EXPIRATION_SECONDS = 365 * 24 * 3600;

export function createTokenIssuer(options: TokenIssuerOptions): IssueToken {
  const key = createPrivateKey(options.signingKeyPem);
  const { objects, clock, random } = options;

  return (request, namespace, name, warn) => {
    const faults = placeFaults(request.metadata, namespace, name);
    if (faults.length > 0) return failure(invalidStatus(KIND, name, faults));
    const account = objects.get(serviceAccountKind, namespace, name);
    if (account === undefined) {
      return failure(notFoundStatus({ group: "", resource: "serviceaccounts" }, name));
    }
    const { uid } = request.metadata;
    if (uid && uid !== account.metadata.uid) {
      const why = `the UID in the token request (${uid}) does not match the UID of the service account (${account.metadata.uid})`;
      return failure(conflictStatus({ group: GROUP, resource: "TokenRequest" }, name, why));
    }
    const audiences = request.spec.audiences?.length
      ? [...request.spec.audiences]
      : [...options.audiences];
    const expiryFaults = validateTokenRequest(request);
    if (expiryFaults.length > 0) return failure(invalidStatus(KIND, "", expiryFaults));
    let seconds = request.spec.expirationSeconds!;

    const bound = resolveBound(request, namespace, name, objects);
    if (!bound.ok) return bound;
    if (options.expirationSecondsMax > 0 && seconds > options.expirationSecondsMax) {
      const max = options.expirationSecondsMax;
      warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
      seconds = max;
    }
    const extended =
      options.extendExpiration &&
      bound.value.pod !== undefined &&
      seconds === KUBELET_EXPIRATION_SECONDS &&
      audiences.every((audience) => options.audiences.includes(audience));

    const nowMs = clock.nowMs();
    const nowSeconds = Math.floor(nowMs / 1000);
    const lifeSeconds = extended ? EXTENDED_EXPIRATION_SECONDS : seconds;
    const token = signToken(
      {
        aud: audiences,
        exp: nowSeconds + lifeSeconds,
        iat: nowSeconds,
        iss: options.issuer,
        jti: random.uuid(),
        "kubernetes.io": {
          namespace,
          ...bound.value,
          serviceaccount: refOf(account.metadata),
          ...(extended ? { warnafter: nowSeconds + seconds } : {}),
        },
        nbf: nowSeconds,
        sub: serviceAccountUserName(namespace, name),
      },
      key,
    );
    return success({
      ...request,
      metadata: metaOf(request, account, nowMs),
      spec: {
        ...request.spec,
        audiences,
        expirationSeconds: seconds,
        boundObjectRef: request.spec.boundObjectRef ?? null,
      },
      status: { token, expirationTimestamp: timeFromMs(nowMs + seconds * 1000) },
    });
  };
}

function metaOf(request: TokenRequest, { metadata }: ServiceAccount, nowMs: number): ObjectMeta {
  const { name, namespace, uid } = metadata;
  return {
    ...request.metadata,
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    creationTimestamp: timeFromMs(nowMs),
  };
}

/** The claims about the object that the token dies with. */
function resolveBound(
  { spec: { boundObjectRef: ref } }: TokenRequest,
  namespace: string,
  account: string,
  objects: Objects,
): Result<Claims> {
  if (ref === null || ref === undefined) return success({});
  const { kind = "", apiVersion = "", name = "", uid = "" } = ref;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const missing = (resource: string) => failure(notFoundStatus({ group: "", resource }, name));
  const conflict = () =>
    failure(
      conflictStatus(
        { group: "", resource: kind },
        name,
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      ),
    );
  const matches = (meta: ObjectMeta): boolean => uid === "" || meta.uid === uid;

  switch (group === "" ? kind : "") {
    case "Pod": {
      const pod = objects.get(podKind, namespace, name);
      if (pod === undefined) return missing("pods");
      if (pod.spec.serviceAccountName !== account) {
        const message = `cannot bind token for serviceaccount ${goQuote(account)} to pod running with different serviceaccount name.`;
        return failure(badRequestStatus(message));
      }
      if (!matches(pod.metadata)) return conflict();
      const nodeName = pod.spec.nodeName ?? "";
      const node = nodeName === "" ? undefined : objects.get(nodeKind, "", nodeName);
      return success({
        ...(nodeName === "" ? {} : { node: node ? refOf(node.metadata) : { name: nodeName } }),
        pod: refOf(pod.metadata),
      });
    }
    case "Node": {
      const node = objects.get(nodeKind, "", name);
      if (node === undefined) return missing("nodes");
      return matches(node.metadata) ? success({ node: refOf(node.metadata) }) : conflict();
    }
    case "Secret": {
      const secret = objects.get(secretKind, namespace, name);
      if (secret === undefined) return missing("secrets");
      return matches(secret.metadata) ? success({ secret: refOf(secret.metadata) }) : conflict();
    }
    default: {
      const message = `cannot bind token to object of type ${group}/${version}, Kind=${kind}`;
      return failure(badRequestStatus(message));
    }
  }
}

function refOf({ name, uid }: ObjectMeta): Claims {
  return { name, uid };
}

/** What the body says about name and namespace must be what the path says. */
function placeFaults(meta: ObjectMeta, namespace: string, name: string): FieldError[] {
  const path = Path.of("metadata");
  if (meta.name && meta.name !== name) {
    const detail = "must match the service account name if specified";
    return [invalid(path.child("name"), meta.name, detail)];
  }
  if (meta.namespace && meta.namespace !== namespace) {
    const detail = "must match the service account namespace if specified";
    return [invalid(path.child("namespace"), meta.namespace, detail)];
  }
  return [];
}
