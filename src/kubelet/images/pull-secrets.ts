/** Credentials for a registry, from the imagePullSecrets of a pod. */
import type { Secret } from "#api/generated/core.v1.ts";
import type { AuthConfig } from "#kubelet/cri/image-methods.ts";
import { matchesImage } from "#kubelet/decide/inputs/image-match.ts";
import { registryOf } from "#kubelet/decide/inputs/image-name.ts";

interface DockerAuth {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
}

/** Those that fit the image's registry, the longest match first. Broken secrets are passed over. */
export function credentialsFor(image: string, secrets: readonly Secret[]): AuthConfig[] {
  const found = secrets.flatMap((secret) =>
    Object.entries(authsOf(secret)).filter(([server]) => matches(server, image)),
  );
  return found.sort(([a], [b]) => b.length - a.length).map(([, auth]) => authConfig(auth));
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
