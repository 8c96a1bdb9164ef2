/**
 * Which pods may use an image that is on the node already. An image that was pulled with a secret is
 * for pods that have that secret; every other pod has to pull it again with credentials of its own.
 */
import { repositoryOf } from "./inputs/image-name.ts";

/** A secret that an image was pulled with. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

export interface PullCredentials {
  /** Pulled without a secret: every pod of the node may use it. */
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly PullSecret[];
}

/** ImagePulledRecord (kubelet.config.k8s.io/v1beta1), by the image's name without tag. */
export type CredentialMapping = Readonly<Record<string, PullCredentials>>;

export const VERIFICATION_POLICIES = [
  "NeverVerify",
  "NeverVerifyPreloadedImages",
  "NeverVerifyAllowlistedImages",
  "AlwaysVerify",
] as const;
export type VerificationPolicy = (typeof VERIFICATION_POLICIES)[number];

/** A record grows by secrets that match up to here. */
const SECRETS_MAX = 100;

/** `wasPulled`: by a kubelet, and not brought onto the node in another way. */
export function mustVerify(
  policy: VerificationPolicy,
  allowlist: readonly string[],
  image: string,
  wasPulled: boolean,
): boolean {
  if (policy === "NeverVerify") return false;
  if (policy === "AlwaysVerify") return true;
  if (policy === "NeverVerifyPreloadedImages") return wasPulled;
  const name = repositoryOf(image);
  return !allowlist.some((pattern) =>
    pattern.endsWith("/*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Undefined if the pattern of `preloadedImagesVerificationAllowlist` can be used. */
export function whyBadPattern(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const isWildcard = pattern.endsWith("/*");
  const trimmed = isWildcard ? pattern.slice(0, -1) : pattern;
  if (trimmed === "") return `the supplied pattern is too short: ${pattern}`;
  if (trimmed.includes("*")) {
    return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  }
  if (isWildcard) return trimmed === "/" ? "at least registry hostname is required" : undefined;
  if (repositoryOf(trimmed) === trimmed) return undefined;
  return `neither tag nor digest is accepted in an image reference: ${pattern}`;
}

export type Match =
  | { readonly matches: false }
  /** `learned`: a secret that was not known to be good for the image. */
  | { readonly matches: true; readonly learned?: PullSecret };

/** `own`: secrets of the pod that are for the image's registry. */
export function matchCredentials(
  known: PullCredentials | undefined,
  own: readonly PullSecret[],
): Match {
  if (known?.nodePodsAccessible) return { matches: true };
  const secrets = known?.kubernetesSecrets ?? [];
  const mayLearn = secrets.length < SECRETS_MAX;
  for (const one of own) {
    for (const two of secrets) {
      const isSameHash = two.credentialHash !== "" && one.credentialHash === two.credentialHash;
      const isSameSecret = keyOf(one) === keyOf(two);
      if (isSameHash) {
        return { matches: true, ...(!isSameSecret && mayLearn ? { learned: one } : {}) };
      }
      if (isSameSecret && mayLearn) return { matches: true, learned: one };
    }
  }
  return { matches: false };
}

/** The same mapping if nothing is new. */
export function mergeCredentials(
  mapping: CredentialMapping,
  repository: string,
  added: PullCredentials,
): CredentialMapping {
  const before = mapping[repository];
  if (before?.nodePodsAccessible) return mapping;
  if (before === undefined || added.nodePodsAccessible) {
    return { ...mapping, [repository]: added };
  }
  const secrets = new Map((before.kubernetesSecrets ?? []).map((one) => [keyOf(one), one]));
  const isNew = (added.kubernetesSecrets ?? []).some(
    (one) => secrets.get(keyOf(one))?.credentialHash !== one.credentialHash,
  );
  if (!isNew) return mapping;
  for (const one of added.kubernetesSecrets ?? []) secrets.set(keyOf(one), one);
  const sorted = [...secrets].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return { ...mapping, [repository]: { kubernetesSecrets: sorted } };
}

function keyOf({ namespace, name, uid }: PullSecret): string {
  return `${namespace}/${name}/${uid}`;
}
