/** How paths, tags and operations of a group version are called. */

/** `/api/v1` or `/apis/GROUP/VERSION`. */
export function rootPath(group: string, version: string): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** `AppsV1`, `RbacAuthorizationV1`: how operations of a group version begin. */
export function groupVersionWord(group: string, version: string): string {
  return groupWords(group).map(capital).join("") + capital(version);
}

/** `apps_v1`, `rbacAuthorization_v1` */
export function groupVersionTag(group: string, version: string): string {
  const [first = "", ...rest] = groupWords(group);
  return `${first}${rest.map(capital).join("")}_${version}`;
}

export function groupWords(group: string): string[] {
  return group === "" ? ["core"] : group.replace(/\.k8s\.io$/, "").split(".");
}

export function capital(word: string): string {
  return (word[0] ?? "").toUpperCase() + word.slice(1);
}
