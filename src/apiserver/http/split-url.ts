/** The path and the query of what a request asks for. */

export interface SplitUrl {
  /** Without its escapes. */
  readonly path: string;
  readonly query: string;
}

const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\/[^/?]*/i;

const BAD_ESCAPE = /%(?![0-9a-f]{2})/i;

/** Undefined for a path with broken escapes. Whole addresses are taken for their path. */
export function splitUrl(target: string): SplitUrl | undefined {
  const url = target.startsWith("/") ? target : target.replace(ABSOLUTE, "");
  const mark = url.indexOf("?");
  const raw = mark < 0 ? url : url.slice(0, mark);
  const query = mark < 0 ? "" : url.slice(mark + 1);
  if (!raw.includes("%")) return { path: raw, query };
  return BAD_ESCAPE.test(raw) ? undefined : { path: unescapePath(raw), query };
}

export function hasBadEscape(target: string): boolean {
  return target.includes("%") && BAD_ESCAPE.test(target.split("?")[0]!);
}

/** Escapes of bytes that are no text stand for the sign of such. */
function unescapePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    const latin1 = Buffer.from(path).toString("latin1");
    const bytes = latin1.replace(/%(..)/g, (_, hex) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(bytes, "latin1").toString();
  }
}
