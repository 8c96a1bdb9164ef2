/** The page's address: views go by its path, and their settings by its query. */
import { useCallback, useEffect, useState } from "preact/hooks";

export interface Place {
  readonly pathname: string;
  readonly query: URLSearchParams;
}

export function useLocation(): { readonly place: Place; go(path: string): void } {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const update = (): void => setPlace(currentPlace());
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  const go = useCallback((path: string): void => {
    history.pushState(null, "", path);
    setPlace(currentPlace());
  }, []);
  return { place, go };
}

/** Changes one setting of the view in the address, without a new entry in the history. */
export function replaceQuery(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  if (value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text === "" ? "" : `?${text}`));
}

function currentPlace(): Place {
  return { pathname: location.pathname, query: new URLSearchParams(location.search) };
}
