/** The tag of an image's name, which decides how often the image is pulled. */

const PATH = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const HOST_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const HOST = `(?:${HOST_LABEL}(?:\\.${HOST_LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const REFERENCE = new RegExp(
  `^(?<name>(?:${HOST}/)?${PATH}(?:/${PATH})*)` +
    "(?::(?<tag>[\\w][\\w.-]{0,127}))?" +
    "(?:@(?<digest>sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$",
);
const IMAGE_ID = /^[a-f0-9]{64}$/;
const NAME_MAX = 255;
const REFERENCE_MAX = 1024;
const HUB = "docker.io/library/";

/** "latest" without tag and digest; "" for a digest alone, and for what is no image name. */
export function imageTag(image: string): string {
  if (image.length > REFERENCE_MAX || IMAGE_ID.test(image)) return "";
  const { name, tag, digest } = REFERENCE.exec(image)?.groups ?? {};
  if (name === undefined || fullName(name).length > NAME_MAX) return "";
  return tag ?? (digest === undefined ? "latest" : "");
}

export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  return imageTag(image) === "latest" ? "Always" : "IfNotPresent";
}

function fullName(name: string): string {
  return name.includes("/") ? name : `${HUB}${name}`;
}
