/** A component whose code is loaded when it is first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "./problem.tsx";

export function Lazy<P extends object>(options: {
  readonly load: () => Promise<ComponentType<P>>;
  readonly props: P;
}) {
  const [loaded, setLoaded] = useState<{ readonly Component: ComponentType<P> } | undefined>();
  const [error, setError] = useState<string | undefined>();
  useEffect(() => {
    options.load().then(
      (Component) => setLoaded({ Component }),
      (reason: unknown) => setError(String(reason)),
    );
  }, []);
  if (error !== undefined) return <Problem text={error} />;
  if (loaded === undefined) return <p class="loading">Loading…</p>;
  return <loaded.Component {...options.props} />;
}
