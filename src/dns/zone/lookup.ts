/** What the zone knows about a question. */
import type { DnsRecord } from "./records.ts";

export type Lookup =
  | {
      readonly outcome: "records";
      readonly answers: readonly DnsRecord[];
      readonly additionals: readonly DnsRecord[];
    }
  /** An ExternalName Service: the answer is a CNAME and the records of its target. */
  | { readonly outcome: "alias"; readonly name: string; readonly target: string }
  /** The name exists and has no records of this type. */
  | { readonly outcome: "no-data" }
  /** NXDOMAIN. */
  | { readonly outcome: "name-error" }
  /** The name belongs to no zone of the cluster. */
  | { readonly outcome: "outside" };

export const NO_DATA: Lookup = { outcome: "no-data" };
export const NAME_ERROR: Lookup = { outcome: "name-error" };
export const OUTSIDE: Lookup = { outcome: "outside" };

export function recordsOf(
  answers: readonly DnsRecord[],
  additionals: readonly DnsRecord[] = [],
): Lookup {
  return answers.length === 0 ? NO_DATA : { outcome: "records", answers, additionals };
}
