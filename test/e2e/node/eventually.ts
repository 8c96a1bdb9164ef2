/** Asks again until the answer is yes, by a clock that never jumps; what it waits for is named by the failing call. */
export async function until(
  isTrue: () => Promise<boolean> | boolean,
  { timeoutMs = 30_000, everyMs = 50 } = {},
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`not true within ${timeoutMs} ms: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
