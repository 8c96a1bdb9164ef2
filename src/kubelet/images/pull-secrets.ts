/** Credentials for a registry, from the imagePullSecrets of a pod. */
import { createHash } from "node:crypto";
import type { Secret } from "#api/generated/core.v1.ts";
import type { AuthConfig } from "#kubelet/cri/image-methods.ts";
import { matchesImage } from "#kubelet/decide/inputs/image-match.ts";
import { registryOf } from "#kubelet/decide/inputs/image-name.ts";
import type { PullSecret } from "#kubelet/decide/pull-verification.ts";

export interface RegistryCredential {
  readonly auth: AuthConfig;
  /** That it is from. Undefined: every pod of the node has it. */
  readonly secret?: PullSecret;
}

interface DockerAuth {
  readonly username?: string;
  readonly password?: string;
  readonly email?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
}

/** Those that fit the image's registry, the longest match first. Broken secrets are passed over. */
export function credentialsFor(image: string, secrets: readonly Secret[]): RegistryCredential[] {
  const found = secrets.flatMap((secret) =>
    Object.entries(authsOf(secret)).flatMap(([server, given]) => {
      if (!matches(server, image)) return [];
      const auth = authConfig(given);
      return [{ server, auth, secret: pullSecret(secret, auth, given.email) }];
    }),
  );
  return found.sort((a, b) => b.server.length - a.server.length);
}

/** The hash is upstream's: of the credentials as JSON. */
function pullSecret(
  { metadata }: Secret,
  { username, password }: AuthConfig,
  email: string | undefined,
): PullSecret {
  const { uid = "", namespace = "", name = "" } = metadata;
  const json = JSON.stringify({
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...(email ? { email } : {}),
  });
  return { uid, namespace, name, credentialHash: createHash("sha256").update(json).digest("hex") };
}

function authsOf({ type, data = {} }: Secret): Readonly<Record<string, DockerAuth>> {
  const key = type === "kubernetes.io/dockercfg" ? ".dockercfg" : ".dockerconfigjson";
  const text = Buffer.from(data[key] ?? "", "base64").toString("utf8");
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null) return {};
    const auths = "auths" in parsed ? parsed.auths : parsed;
    return typeof auths === "object" && auths !== null ? (auths as Record<string, DockerAuth>) : {};
  } catch {
    return {};
  }
}

/** Images of Docker Hub are known by two names. */
function matches(server: string, image: string): boolean {
  const registry = registryOf(image);
  const full = image.startsWith(`${registry}/`) ? image : `${registry}/${image}`;
  if (matchesImage(server, full)) return true;
  return registry === "index.docker.io" && /^(https:\/\/)?docker\.io\/?$/.test(server);
}

/** The server is not named: the runtime would compare it with the image's as a URL. */
function authConfig(auth: DockerAuth): AuthConfig {
  const decoded = Buffer.from(auth.auth ?? "", "base64").toString("utf8");
  const at = decoded.indexOf(":");
  const [username, password] = at < 0 ? ["", ""] : [decoded.slice(0, at), decoded.slice(at + 1)];
  return {
    username: auth.username ?? username,
    password: auth.password ?? password,
    identityToken: auth.identitytoken ?? "",
  };
}
