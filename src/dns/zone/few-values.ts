/** A set of values that mostly has one member: one value alone costs no collection. */
export type FewValues<V> = V | Several<V> | undefined;

class Several<V> {
  readonly values: readonly V[];

  constructor(values: readonly V[]) {
    this.values = values;
  }
}

export function valuesOf<V>(few: FewValues<V>): readonly V[] {
  if (few === undefined) return [];
  return few instanceof Several ? few.values : [few];
}

export function withValue<V>(few: FewValues<V>, value: V): FewValues<V> {
  return few === undefined ? value : new Several([...valuesOf(few), value]);
}

/** Without one occurrence of the value. */
export function withoutValue<V>(few: FewValues<V>, value: V): FewValues<V> {
  const values = valuesOf(few);
  const index = values.indexOf(value);
  if (index < 0) return few;
  const left = values.toSpliced(index, 1);
  return left.length < 2 ? left[0] : new Several(left);
}
