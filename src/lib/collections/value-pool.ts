/** Equal values share the memory of the first one, up to a number of different values. */
export function createValuePool<T>(sizeMax: number): (value: T) => T {
  const pool = new Map<string, T>();
  return (value) => {
    const key = JSON.stringify(value);
    const known = pool.get(key);
    if (known !== undefined) return known;
    if (pool.size < sizeMax) pool.set(key, value);
    return value;
  };
}
