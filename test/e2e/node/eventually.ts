/** Asks again until the answer is yes; what it waits for is named by the failing call. */
export async function until(
  isTrue: () => Promise<boolean> | boolean,
  { timeoutMs = 30_000, everyMs = 50 } = {},
): Promise<void> {
  const endMs = Date.now() + timeoutMs;
  while (!(await isTrue())) {
    if (Date.now() > endMs) throw new Error(`not true within ${timeoutMs} ms: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
