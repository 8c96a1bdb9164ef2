/** Objects of lists and watch events, as they are sent to pages. */
import type { LiveObject } from "./messages.ts";

/** Items of a list have no apiVersion and kind of their own. */
export function itemsOf(list: unknown): readonly LiveObject[] {
  const { apiVersion, kind, items } = list as {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly items?: readonly LiveObject[];
  };
  const names = { apiVersion: apiVersion ?? "", kind: (kind ?? "").replace(/List$/, "") };
  return (items ?? []).map((item) => ({ ...names, ...item }));
}

/** How many items follow a page of a list; 0 if the server does not say. */
export function remainingOf(list: unknown): number {
  const { metadata } = list as { readonly metadata?: { readonly remainingItemCount?: number } };
  return metadata?.remainingItemCount ?? 0;
}

export function uidOf({ metadata }: LiveObject): string {
  return metadata.uid ?? `${metadata.namespace ?? ""}/${metadata.name}`;
}
