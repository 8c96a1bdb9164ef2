/** Values by a key, in their order (Node 20 has no Map.groupBy). */
export function groupedBy<K, V>(values: Iterable<V>, key: (value: V) => K): Map<K, V[]> {
  const groups = new Map<K, V[]>();
  for (const value of values) {
    const group = groups.get(key(value));
    if (group === undefined) groups.set(key(value), [value]);
    else group.push(value);
  }
  return groups;
}
