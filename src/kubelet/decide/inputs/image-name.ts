/** Names of images: what is valid, which tag is meant, which registry they are in. */

const NAME =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?\/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$/;
const NAME_LENGTH_MAX = 1024;

export function isImageName(image: string): boolean {
  return image.length <= NAME_LENGTH_MAX && NAME.test(image);
}

/** `latest` unless the name says more. */
export function withTag(image: string): string {
  const last = image.slice(image.lastIndexOf("/") + 1);
  return last.includes(":") || last.includes("@") ? image : `${image}:latest`;
}

/** The host of the registry; Docker Hub's for names without one. */
export function registryOf(image: string): string {
  const host = hostOf(image);
  return host !== undefined && host !== "docker.io" ? host : "index.docker.io";
}

/** The name under which runtimes keep the image: `busybox` is docker.io/library/busybox:latest. */
export function fullImageName(image: string): string {
  const tagged = withTag(image);
  if (hostOf(tagged) !== undefined) return tagged;
  return tagged.includes("/") ? `docker.io/${tagged}` : `docker.io/library/${tagged}`;
}

/** What stands before the first slash is a host if it cannot be a part of a path. */
function hostOf(image: string): string | undefined {
  const [first = "", ...rest] = image.split("/");
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : undefined;
}

/** Without tag and digest. */
export function repositoryOf(image: string): string {
  const [name = ""] = image.split("@");
  const at = name.lastIndexOf(":");
  return at > name.lastIndexOf("/") ? name.slice(0, at) : name;
}
