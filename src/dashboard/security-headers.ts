/** The headers that keep other pages, and content of the cluster, away from the dashboard's page. */

const COMMON: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

/** Scripts come from the dashboard's own files only; nothing is loaded from anywhere else. */
export function pageHeaders(path: string): Readonly<Record<string, string>> {
  // xterm.js writes style elements, so the pages with a terminal allow inline styles. Scripts stay strict.
  const styles = path.startsWith("/terminal/") ? "'self' 'unsafe-inline'" : "'self'";
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return { ...COMMON, "content-security-policy": policy.join("; ") };
}

/** Answers of the cluster are data: even HTML of a pod behind the API server's proxy runs nothing. */
export const DATA_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cache-control": "no-store",
};
