/** How an issuer's claims are checked and become a user, as the authentication configuration says. */

import {
  type ClaimsExpression,
  type CompiledExpression,
  compileClaimsExpression,
  compileUserExpression,
} from "#api/expressions/authentication.ts";
import { expressionError } from "#api/expressions.ts";
import { validateDomainPrefixedPath } from "#api/validation/domain-prefixed.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import type { ClaimMapping, ClaimRules, Rule } from "./claims-user.ts";

export interface ClaimEntry {
  readonly claimMappings?: {
    readonly username?: MappingEntry;
    readonly groups?: MappingEntry;
    readonly uid?: MappingEntry;
    readonly extra?: readonly { readonly key?: string; readonly valueExpression?: string }[];
  };
  readonly claimValidationRules?: readonly ClaimRuleEntry[];
  readonly userValidationRules?: readonly RuleEntry[];
}

interface MappingEntry {
  readonly claim?: string;
  readonly prefix?: string;
  readonly expression?: string;
}

interface RuleEntry {
  readonly expression?: string;
  readonly message?: string;
}

interface ClaimRuleEntry extends RuleEntry {
  readonly claim?: string;
  readonly requiredValue?: string;
}

/** What is wrong goes to `faults`; then the rules cannot be used. */
export function readClaims(entry: ClaimEntry, at: Path, faults: FieldError[]): ClaimRules {
  const { username = {}, groups = {}, uid = {} } = entry.claimMappings ?? {};
  const claimRules = readClaimRules(entry, at.child("claimValidationRules"), faults);
  const mappings = at.child("claimMappings");
  const before = faults.length;
  const name = readMapping(username, mappings.child("username"), true, faults);
  const usesEmail = faults.length === before && mentions(name, "email");
  const groupsMapping = readMapping(groups, mappings.child("groups"), false, faults);
  const uidMapping = readUid(uid, mappings.child("uid"), faults);
  const extra = readExtra(entry, mappings.child("extra"), faults);
  const readers = [name, ...extra.map(({ value }) => value), ...claimRules.map(({ when }) => when)];
  if (usesEmail && !readers.some((one) => mentions(one, "email_verified"))) {
    const place = mappings.child("username").child("expression");
    faults.push(invalid(place, username.expression, UNVERIFIED_EMAIL));
  }
  return {
    username: name ?? { claim: "", prefix: "" },
    ...(groupsMapping && { groups: groupsMapping }),
    ...(uidMapping && { uid: uidMapping }),
    extra,
    requiredClaims: Object.fromEntries(
      (entry.claimValidationRules ?? [])
        .filter(({ claim }) => claim)
        .map(({ claim, requiredValue = "" }) => [claim!, requiredValue]),
    ),
    claimRules,
    userRules: readUserRules(entry, at.child("userValidationRules"), faults),
  };
}

const UNVERIFIED_EMAIL =
  "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";

function mentions(reader: ClaimMapping | ClaimsExpression | undefined, claim: string): boolean {
  return reader !== undefined && "mentions" in reader && reader.mentions(claim);
}

/** Undefined, and its fault noted, for what does not compile. */
function noted<T>(
  compiled: CompiledExpression<T>,
  text: string,
  at: Path,
  faults: FieldError[],
): T | undefined {
  if (compiled.ok) return compiled.value;
  faults.push(...expressionError(at, text, compiled.fault));
  return undefined;
}

function readClaimRules(
  { claimValidationRules: rules = [] }: ClaimEntry,
  path: Path,
  faults: FieldError[],
): Rule<ClaimsExpression>[] {
  const claims = new Set<string>();
  const texts = new Set<string>();
  return rules.flatMap(({ claim = "", expression = "", message = "", requiredValue = "" }, i) => {
    const at = path.index(i);
    if (claim !== "" && expression !== "") {
      faults.push(invalid(at, claim, "claim and expression can't both be set"));
    } else if (claim !== "") {
      if (message !== "") {
        const detail = "may not be specified when claim is set";
        faults.push(invalid(at.child("message"), message, detail));
      }
      if (claims.has(claim)) faults.push(duplicate(at.child("claim"), claim));
      claims.add(claim);
    } else if (expression === "") {
      faults.push(required(at, "claim or expression is required"));
    } else {
      if (requiredValue !== "") {
        const detail = "may not be specified when expression is set";
        faults.push(invalid(at.child("requiredValue"), requiredValue, detail));
      }
      const place = at.child("expression");
      if (isRepeated(expression, texts, place, faults)) return [];
      const compiled = compileClaimsExpression(expression, "bool");
      const when = noted(compiled, expression, place, faults);
      return when === undefined ? [] : [{ when, message }];
    }
    return [];
  });
}

function readUserRules(
  { userValidationRules: rules = [] }: ClaimEntry,
  path: Path,
  faults: FieldError[],
): NonNullable<ClaimRules["userRules"]> {
  const texts = new Set<string>();
  return rules.flatMap(({ expression = "", message = "" }, i) => {
    const at = path.index(i).child("expression");
    if (expression === "") {
      faults.push(required(at, ""));
      return [];
    }
    if (isRepeated(expression, texts, at, faults)) return [];
    const when = noted(compileUserExpression(expression), expression, at, faults);
    return when === undefined ? [] : [{ when, message }];
  });
}

function isRepeated(text: string, seen: Set<string>, at: Path, faults: FieldError[]): boolean {
  const repeated = seen.has(text);
  if (repeated) faults.push(duplicate(at, text));
  seen.add(text);
  return repeated;
}

const BOTH = "claim and expression can't both be set";

function readMapping(
  { claim = "", expression = "", prefix }: MappingEntry,
  at: Path,
  isRequired: boolean,
  faults: FieldError[],
): ClaimMapping | ClaimsExpression | undefined {
  if (claim !== "" && expression !== "") {
    faults.push(invalid(at, "", BOTH));
    return undefined;
  }
  if (expression !== "") {
    if (prefix !== undefined) {
      const detail = "may not be specified when expression is set";
      faults.push(invalid(at.child("prefix"), prefix, detail));
    }
    return noted(compileClaimsExpression(expression), expression, at.child("expression"), faults);
  }
  if (claim === "") {
    if (isRequired) faults.push(required(at, "claim or expression is required"));
    return undefined;
  }
  if (prefix === undefined) {
    const detail =
      "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
    faults.push(required(at.child("prefix"), detail));
  }
  return { claim, prefix: prefix ?? "" };
}

function readUid(
  { claim = "", expression = "" }: MappingEntry,
  at: Path,
  faults: FieldError[],
): ClaimMapping | ClaimsExpression | undefined {
  if (claim !== "" && expression !== "") {
    faults.push(invalid(at, "", BOTH));
    return undefined;
  }
  if (claim !== "") return { claim, prefix: "" };
  if (expression === "") return undefined;
  return noted(compileClaimsExpression(expression), expression, at.child("expression"), faults);
}

const RESERVED_DOMAIN = /^([^/]*\.)?(kubernetes|k8s)\.io\//;

function readExtra(
  { claimMappings: { extra = [] } = {} }: ClaimEntry,
  path: Path,
  faults: FieldError[],
): NonNullable<ClaimRules["extra"]> {
  const keys = new Set<string>();
  return extra.flatMap(({ key = "", valueExpression: text = "" }, i) => {
    const at = path.index(i).child("key");
    faults.push(...validateDomainPrefixedPath(key, at));
    if (key !== key.toLowerCase()) faults.push(invalid(at, key, "must be lowercase"));
    if (RESERVED_DOMAIN.test(key)) {
      const detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
      faults.push(invalid(at, key, detail));
    }
    if (isRepeated(key, keys, at, faults)) return [];
    const place = path.index(i).child("valueExpression");
    if (text === "") {
      faults.push(required(place, ""));
      return [];
    }
    const value = noted(compileClaimsExpression(text), text, place, faults);
    return value === undefined ? [] : [{ key, value }];
  });
}
