/**
 * Whether a credential's pattern is for an image: `*.example.com`, `example.com:5000/team`. Each part
 * of the host may have wildcards and counts for one part; ports must be equal; the path of the
 * pattern must begin the image's.
 */
export function matchesImage(pattern: string, image: string): boolean {
  const wanted = split(pattern.replace(/^https?:\/\//, "").replace(/\/v[12]\/?$/, ""));
  const given = split(image);
  if (wanted.port !== given.port || !given.path.startsWith(wanted.path)) return false;
  const [globs, parts] = [wanted.host.split("."), given.host.split(".")];
  return globs.length === parts.length && globs.every((glob, i) => matchesPart(glob, parts[i]!));
}

function split(text: string): {
  readonly host: string;
  readonly port: string;
  readonly path: string;
} {
  const at = text.indexOf("/");
  const [where, path] = at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at)];
  const [host = "", port = ""] = where.split(":");
  return { host, port, path: path === "/" ? "" : path };
}

function matchesPart(glob: string, part: string): boolean {
  const pattern = glob
    .replace(/[\\^$.|+()[\]{}]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${pattern}$`).test(part);
}
