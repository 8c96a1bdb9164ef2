/** Scales raw scores to 0..100 by the highest one, in place. */
export const SCORE_MAX = 100;

export function normalizeScores(
  scores: number[],
  { lowestIsBest = false }: { readonly lowestIsBest?: boolean } = {},
): void {
  let highest = 0;
  for (const score of scores) if (score > highest) highest = score;
  for (let i = 0; i < scores.length; i++) {
    const scaled = highest === 0 ? 0 : Math.trunc((SCORE_MAX * scores[i]!) / highest);
    scores[i] = lowestIsBest ? SCORE_MAX - scaled : scaled;
  }
}
