/**
 * The value under a key of a map whose keys come from outside. Every object inherits some
 * (`constructor`, `toString`), which are no entries of the map.
 */
export function ownValue<T>(
  map: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
