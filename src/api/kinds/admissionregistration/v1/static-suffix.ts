/** Names that belong to configurations read from files, not from the API. */
const STATIC_SUFFIX = ".static.k8s.io";

export function staticSuffixWarnings(name: string | undefined): string[] {
  if (!name?.endsWith(STATIC_SUFFIX)) return [];
  return [
    `metadata.name: names ending with "${STATIC_SUFFIX}" are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
