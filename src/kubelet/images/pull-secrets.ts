/** Credentials for a registry, from the imagePullSecrets of a pod. */
import type { Secret } from "#api/generated/core.v1.ts";
import type { AuthConfig } from "#kubelet/cri/image-methods.ts";
import { registryOf } from "#kubelet/decide/image-name.ts";

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
  return found
    .sort(([a], [b]) => b.length - a.length)
    .map(([server, auth]) => authConfig(server, auth));
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

function matches(server: string, image: string): boolean {
  const plain = server
    .replace(/^https?:\/\//, "")
    .replace(/\/v[12]\/?$/, "")
    .replace(/\/$/, "");
  const [host = "", ...path] = plain.split("/");
  const registry = registryOf(image);
  const isHost = host === registry || (host === "docker.io" && registry === "index.docker.io");
  const isWild = host.startsWith("*.") && registry.endsWith(host.slice(1));
  if (!isHost && !isWild) return false;
  return path.length === 0 || image.startsWith(`${registry}/${path.join("/")}`);
}

function authConfig(serverAddress: string, auth: DockerAuth): AuthConfig {
  const decoded = Buffer.from(auth.auth ?? "", "base64").toString("utf8");
  const at = decoded.indexOf(":");
  const [username, password] = at < 0 ? ["", ""] : [decoded.slice(0, at), decoded.slice(at + 1)];
  return {
    serverAddress,
    username: auth.username ?? username,
    password: auth.password ?? password,
    identityToken: auth.identitytoken ?? "",
  };
}
