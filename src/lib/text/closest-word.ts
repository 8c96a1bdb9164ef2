/** The closest word to a misspelled one: the one with the fewest typing errors (optimal string alignment). */

/** Undefined if no word is close: at most a third of the letters may be wrong, and never more than three. */
export function closestWord(typed: string, words: Iterable<string>): string | undefined {
  let best: string | undefined;
  let fewest = Math.min(3, Math.floor(typed.length / 3)) + 1;
  for (const word of words) {
    if (Math.abs(word.length - typed.length) >= fewest) continue;
    const errors = typingErrors(typed, word);
    if (errors < fewest) [best, fewest] = [word, errors];
  }
  return best;
}

/** Letters that were left out, added, replaced, or swapped with their neighbour. */
function typingErrors(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      let errors = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (swapped) errors = Math.min(errors, beforeLast[j - 2]! + 1);
      row.push(errors);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length]!;
}
