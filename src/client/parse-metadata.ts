/** The metadata of an object that was just created, without parsing the rest of its JSON. */
import type { KubeObject } from "#api/kind.ts";

const MANAGED_FIELDS = ',"managedFields":[';

/**
 * Parses the text up to managedFields, which API servers write behind the rest of the metadata and
 * before spec and status. Undefined if the text is not like that: then all of it has to be parsed.
 *
 * The searched text can stand in no JSON string, where its quotes would be escaped. If it belongs to
 * another part of the object, what stands before it is no JSON once two braces are closed, or has no
 * metadata with a uid and a resourceVersion, or has all of the metadata.
 */
export function parseMetadata(text: string): Pick<KubeObject, "metadata"> | undefined {
  const end = text.indexOf(MANAGED_FIELDS);
  if (end < 0) return undefined;
  try {
    const { metadata } = JSON.parse(`${text.slice(0, end)}}}`) as Partial<KubeObject>;
    const isWhole = metadata?.uid !== undefined && metadata.resourceVersion !== undefined;
    return isWhole ? { metadata } : undefined;
  } catch {
    return undefined;
  }
}
