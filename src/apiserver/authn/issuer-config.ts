/** One issuer of tokens in the authentication configuration: where it is, and whom tokens are for. */
import { X509Certificate } from "node:crypto";
import { goQuote } from "#api/meta/go-quote.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import type { ConfiguredIssuer } from "./authentication-config.ts";
import { type ClaimEntry, readClaims } from "./claims-config.ts";

export interface JwtEntry extends ClaimEntry {
  readonly issuer?: IssuerEntry;
}

interface IssuerEntry {
  readonly url?: string;
  readonly discoveryURL?: string;
  readonly audiences?: readonly string[];
  readonly audienceMatchPolicy?: string;
  readonly certificateAuthority?: string;
  readonly egressSelectorType?: string;
}

const SIGNING_ALGORITHMS = ["ES", "PS", "RS"].flatMap((family) =>
  ["256", "384", "512"].map((bits) => family + bits),
);

/** What is wrong goes to `faults`; then the issuer cannot be used. */
export function readIssuer(
  { issuer = {}, ...claims }: JwtEntry,
  at: Path,
  ownIssuers: readonly string[],
  faults: FieldError[],
): ConfiguredIssuer {
  faults.push(...issuerFaults(issuer, at.child("issuer"), ownIssuers));
  return {
    issuerUrl: issuer.url ?? "",
    audiences: issuer.audiences ?? [],
    ...(issuer.discoveryURL ? { discoveryUrl: issuer.discoveryURL } : {}),
    ...(issuer.certificateAuthority ? { caPem: issuer.certificateAuthority } : {}),
    ...readClaims(claims, at, faults),
    signingAlgorithms: SIGNING_ALGORITHMS,
  };
}

function issuerFaults(issuer: IssuerEntry, at: Path, own: readonly string[]): FieldError[] {
  const { url = "", discoveryURL = "", certificateAuthority = "" } = issuer;
  const faults: FieldError[] = [];
  if (url === "") faults.push(required(at.child("url"), ""));
  else if (own.includes(url)) {
    const detail = `URL must not overlap with disallowed issuers: [${own.join(" ")}]`;
    faults.push(invalid(at.child("url"), url, detail));
  }
  if (url !== "") faults.push(...urlFaults(url, at.child("url")));
  if (discoveryURL !== "") {
    const place = at.child("discoveryURL");
    if (url !== "" && withoutSlashes(discoveryURL) === withoutSlashes(url)) {
      faults.push(invalid(place, discoveryURL, "discoveryURL must be different from URL"));
    }
    faults.push(...urlFaults(discoveryURL, place));
  }
  faults.push(...audienceFaults(issuer, at));
  if (certificateAuthority !== "" && !isCertificate(certificateAuthority)) {
    const detail = "data does not contain any valid RSA or ECDSA certificates";
    faults.push(invalid(at.child("certificateAuthority"), "<omitted>", detail));
  }
  return [...faults, ...egressFaults(issuer.egressSelectorType ?? "", at)];
}

function withoutSlashes(url: string): string {
  return url.replace(/\/+$/, "");
}

function audienceFaults(issuer: IssuerEntry, path: Path): FieldError[] {
  const { audiences = [], audienceMatchPolicy: policy = "" } = issuer;
  const at = path.child("audiences");
  if (audiences.length === 0) return [required(at, `at least one ${at} is required`)];
  const faults = audiences.flatMap((audience, index) => [
    ...(audience === "" ? [required(at.index(index), "")] : []),
    ...(audiences.indexOf(audience) < index ? [duplicate(at.index(index), audience)] : []),
  ]);
  if (policy !== "MatchAny" && (audiences.length > 1 || policy !== "")) {
    const detail =
      audiences.length > 1
        ? "audienceMatchPolicy must be MatchAny for multiple audiences"
        : "audienceMatchPolicy must be empty or MatchAny for single audience";
    faults.push(invalid(path.child("audienceMatchPolicy"), policy, detail));
  }
  return faults;
}

/** There are no egress selectors, so that none can be chosen. */
function egressFaults(type: string, path: Path): FieldError[] {
  if (type === "") return [];
  const detail = ["controlplane", "cluster"].includes(type)
    ? `egress lookup required with egress selector type ${goQuote(type)}`
    : "egress selector must be either controlplane or cluster";
  return [invalid(path.child("egressSelectorType"), type, detail)];
}

function urlFaults(text: string, at: Path): FieldError[] {
  const fault = (detail: string): FieldError => invalid(at, text, detail);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [fault(`parse ${goQuote(text)}: not a URL`)];
  }
  return [
    ...(url.protocol === "https:" ? [] : [fault("URL scheme must be https")]),
    ...(url.username + url.password === ""
      ? []
      : [fault("URL must not contain a username or password")]),
    ...(url.search === "" ? [] : [fault("URL must not contain a query")]),
    ...(url.hash === "" ? [] : [fault("URL must not contain a fragment")]),
  ];
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
