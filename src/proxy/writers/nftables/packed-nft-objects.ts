/** What a Service was rendered to, as one short text, for the difference to what comes next. */
import type { ElementValue, NftObjects } from "./render-service.ts";

type Packed = readonly [
  elements: readonly (readonly [element: string, verdict: string, sockets: string])[],
  chains: readonly (readonly [name: string, rules: readonly string[]])[],
  sets: readonly (readonly [name: string, definition: string])[],
];

/** Not in sockets, which are `address . port`. */
const SEPARATOR = ",";

export function packObjects({ elements, chains, sets }: NftObjects): string {
  const values = Array.from(elements, ([element, { verdict, sockets }]) => {
    return [element, verdict, sockets.join(SEPARATOR)] as const;
  });
  return JSON.stringify([values, [...chains], [...sets]] satisfies Packed);
}

export function unpackObjects(text: string): NftObjects {
  const [elements, chains, sets] = JSON.parse(text) as Packed;
  return {
    elements: new Map(elements.map(([element, ...value]) => [element, elementValue(...value)])),
    chains: new Map(chains),
    sets: new Map(sets),
  };
}

function elementValue(verdict: string, sockets: string): ElementValue {
  return { verdict, sockets: sockets === "" ? [] : sockets.split(SEPARATOR) };
}
