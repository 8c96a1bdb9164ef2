/**
 * The contents of an nftables table as data, and the commands that lead from one content to another.
 * Commands only name what differs, so that one pod that comes or goes is a transaction of a few lines.
 */
export interface NftTable {
  /** Sets and maps by name. */
  readonly sets: ReadonlyMap<string, NftSet>;
  /** Rules by the name of the chain. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

export interface NftSet {
  readonly word: "set" | "map";
  readonly type: string;
  /** Values by key; empty for the elements of a set. */
  readonly elements: ReadonlyMap<string, string>;
}

export interface TableChange {
  /** One transaction, after which packets see the new content. */
  readonly commands: readonly string[];
  /**
   * Removes chains and sets that are no longer used. It must be a transaction of its own: a kernel
   * still counts what the first one took away.
   */
  readonly removals: readonly string[];
}

export const EMPTY_TABLE: NftTable = { sets: new Map(), chains: new Map() };

export function changeTable(table: string, old: NftTable, next: NftTable): TableChange {
  return {
    commands: [
      ...[...next.sets].flatMap(([name, { word, type }]) =>
        old.sets.has(name) ? [] : [`add ${word} ${table} ${name} { type ${type}; }`],
      ),
      ...[...next.chains.keys()].flatMap((name) =>
        old.chains.has(name) ? [] : [`add chain ${table} ${name}`],
      ),
      ...changeChains(table, old, next),
      ...changeElements(table, old, next),
      ...flushes(table, old, next),
    ],
    removals: removals(table, old, next),
  };
}

function changeChains(table: string, old: NftTable, next: NftTable): string[] {
  return [...next.chains].flatMap(([name, rules]) => {
    const known = old.chains.get(name);
    if (known !== undefined && isSame(known, rules)) return [];
    return [
      ...(known === undefined ? [] : [`flush chain ${table} ${name}`]),
      ...rules.map((rule) => `add rule ${table} ${name} ${rule}`),
    ];
  });
}

function changeElements(table: string, old: NftTable, next: NftTable): string[] {
  return [...next.sets].flatMap(([name, { elements }]) => {
    const known = old.sets.get(name)?.elements ?? new Map<string, string>();
    const removed = [...known].flatMap(([key, value]) => (elements.get(key) === value ? [] : key));
    const added = [...elements].flatMap(([key, value]) =>
      known.get(key) === value ? [] : [value === "" ? key : `${key} : ${value}`],
    );
    return [
      ...(removed.length === 0
        ? []
        : [`delete element ${table} ${name} { ${removed.join(", ")} }`]),
      ...(added.length === 0 ? [] : [`add element ${table} ${name} { ${added.join(", ")} }`]),
    ];
  });
}

/** Unused chains refer to nothing any more, so that everything unused can be removed in any order. */
function flushes(table: string, old: NftTable, next: NftTable): string[] {
  return [...old.chains.keys()].flatMap((name) =>
    next.chains.has(name) ? [] : [`flush chain ${table} ${name}`],
  );
}

function removals(table: string, old: NftTable, next: NftTable): string[] {
  return [
    ...[...old.chains.keys()].flatMap((name) =>
      next.chains.has(name) ? [] : [`delete chain ${table} ${name}`],
    ),
    ...[...old.sets].flatMap(([name, { word }]) =>
      next.sets.has(name) ? [] : [`delete ${word} ${table} ${name}`],
    ),
  ];
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((rule, i) => rule === right[i]);
}
