/** The views by their paths: every view can be linked to. Pure. */
export type Route =
  | { readonly view: "overview" }
  | { readonly view: "graph" }
  | { readonly view: "list"; readonly group: string; readonly plural: string }
  | {
      readonly view: "object";
      readonly group: string;
      readonly plural: string;
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly view: "terminal"; readonly namespace: string; readonly pod: string }
  | { readonly view: "unknown" };

export function routeOf(pathname: string): Route {
  const [view, ...parts] = pathname.split("/").filter(Boolean).map(decoded);
  const [first = "", second = "", third = "", fourth = ""] = parts;
  const group = first === "core" ? "" : first;
  if (view === undefined) return { view: "overview" };
  if (view === "graph" && parts.length === 0) return { view: "graph" };
  if (view === "list" && parts.length === 2) return { view: "list", group, plural: second };
  if (view === "object" && parts.length === 4) {
    const namespace = third === "-" ? "" : third;
    return { view: "object", group, plural: second, namespace, name: fourth };
  }
  if (view === "terminal" && parts.length === 2)
    return { view: "terminal", namespace: first, pod: second };
  return { view: "unknown" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
