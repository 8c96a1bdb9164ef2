/** Queries as Go reads them: a pair that is badly encoded, or has a semicolon, is as if it were not there. */
export function parseQuery(text: string): URLSearchParams {
  if (text === "") return NO_QUERY;
  if (!text.includes(";") && !BAD_ESCAPE.test(text)) return new URLSearchParams(text);
  const pairs = text.split("&").filter((pair) => !pair.includes(";") && !BAD_ESCAPE.test(pair));
  return new URLSearchParams(pairs.join("&"));
}

/** Of most writes. No reader of a query changes it. */
const NO_QUERY = new URLSearchParams();
const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/;
