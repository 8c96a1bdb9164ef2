/** The time, renewed now and then, for ages. */
import { useEffect, useState } from "preact/hooks";

const EVERY_MS = 5_000;

export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
