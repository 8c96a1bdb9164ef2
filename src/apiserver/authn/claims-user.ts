/** The user that a token's claims describe, by the rules of its issuer. */
import type { Evaluation } from "#api/cel/evaluate/program.ts";
import { CelList, type Value } from "#api/cel/values/value.ts";
import type {
  ClaimsExpression,
  MappedUser,
  UserExpression,
} from "#api/expressions/authentication.ts";
import type { User } from "../request/request.ts";
import { type Claims, stringClaim } from "./jwt.ts";
import { authenticated, CREDENTIAL_ID } from "./users.ts";

export interface ClaimRules {
  readonly username: ClaimMapping | ClaimsExpression;
  readonly groups?: ClaimMapping | ClaimsExpression;
  readonly uid?: ClaimMapping | ClaimsExpression;
  readonly extra?: readonly { readonly key: string; readonly value: ClaimsExpression }[];
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly claimRules?: readonly Rule<ClaimsExpression>[];
  readonly userRules?: readonly Rule<UserExpression>[];
}

export interface ClaimMapping {
  readonly claim: string;
  readonly prefix: string;
}

export interface Rule<Expression> {
  readonly when: Expression;
  readonly message: string;
}

/** Or what is wrong with the claims. */
export function userOfClaims(claims: Claims, rules: ClaimRules): User | string {
  try {
    const user: MappedUser = {
      username: usernameOf(claims, rules.username),
      groups: groupsOf(claims, rules.groups),
      uid: uidOf(claims, rules.uid),
      extra: extraOf(claims, rules.extra ?? []),
    };
    checkRequiredClaims(claims, rules.requiredClaims);
    const ofClaims = "oidc: error evaluating claim validation expression: ";
    checkRules(rules.claimRules ?? [], claims, ofClaims);
    checkRules(rules.userRules ?? [], user, "oidc: error evaluating user info validation rule: ");
    const { username: name, groups, uid, extra } = user;
    return authenticated({
      name,
      groups,
      ...(uid === "" ? {} : { uid }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    });
  } catch (error) {
    if (error instanceof ClaimFault) return error.message;
    throw error;
  }
}

/** What is wrong with a value that must be a text; nothing is an empty one. */
export function notText(value: unknown, place = "value"): string | undefined {
  if (value === undefined || value === null || typeof value === "string") return undefined;
  return `json: cannot unmarshal ${jsonType(value)} into Go ${place} of type string`;
}

/** Ends the mapping; its message is for the caller. */
class ClaimFault extends Error {}

function usernameOf(claims: Claims, mapping: ClaimRules["username"]): string {
  if ("evaluate" in mapping) {
    const what = "oidc: error evaluating username claim expression: ";
    const name = evaluated(mapping, claims, what);
    if (typeof name !== "string") {
      throw new ClaimFault(`${what}username claim expression must return a string`);
    }
    if (name !== "") return name;
    throw new ClaimFault("oidc: empty username via CEL expression is not allowed");
  }
  const name = textClaim(claims, mapping.claim, "username claims");
  if (mapping.claim === "email" && "email_verified" in claims) {
    const verified = claims.email_verified ?? false;
    if (typeof verified !== "boolean") {
      const why = `json: cannot unmarshal ${jsonType(verified)} into Go value of type bool`;
      throw new ClaimFault(`oidc: parse 'email_verified' claim: ${why}`);
    }
    if (!verified) throw new ClaimFault("oidc: email not verified");
  }
  return `${mapping.prefix}${name}`;
}

function groupsOf(claims: Claims, mapping: ClaimRules["groups"]): readonly string[] {
  if (mapping === undefined) return [];
  if ("evaluate" in mapping) {
    const what = "oidc: error evaluating group claim expression: ";
    return textsOf(evaluated(mapping, claims, what), what);
  }
  const { claim, prefix } = mapping;
  const value = claims[claim] ?? [];
  const groups = Array.isArray(value) ? value.map((group: unknown) => group ?? "") : [value];
  if (!groups.every((group) => typeof group === "string")) {
    throw new ClaimFault(`oidc: parse groups claim "${claim}": ${notText(value)}`);
  }
  return groups.map((group) => `${prefix}${group}`);
}

function uidOf(claims: Claims, mapping: ClaimRules["uid"]): string {
  if (mapping === undefined) return "";
  if (!("evaluate" in mapping)) return textClaim(claims, mapping.claim, "uid claim");
  const what = "oidc: error evaluating uid claim expression: ";
  const uid = evaluated(mapping, claims, what);
  if (typeof uid === "string") return uid;
  throw new ClaimFault(`${what}uid claim expression must return a string`);
}

function extraOf(
  claims: Claims,
  mappings: NonNullable<ClaimRules["extra"]>,
): Record<string, readonly string[]> {
  const id = stringClaim(claims, "jti");
  const values = mappings.map(({ value }) => evaluated(value, claims, ""));
  const named = mappings.map(({ key, value: { text } }, at) => {
    const what = `oidc: error evaluating extra claim expression: ${text}: `;
    return [key, textsOf(values[at]!, what)] as const;
  });
  return Object.fromEntries([
    ...(id === "" ? [] : [[CREDENTIAL_ID, [`JTI=${id}`]] as const]),
    ...named.filter(([, texts]) => texts.length > 0),
  ]);
}

function checkRequiredClaims(claims: Claims, required: ClaimRules["requiredClaims"]): void {
  for (const [claim, want] of Object.entries(required)) {
    if (!Object.hasOwn(claims, claim)) {
      throw new ClaimFault(`oidc: required claim ${claim} not present in ID token`);
    }
    const got = claims[claim] ?? "";
    const fault = notText(got);
    if (fault !== undefined) throw new ClaimFault(`oidc: parse claim ${claim}: ${fault}`);
    if (got !== want) {
      throw new ClaimFault(
        `oidc: required claim ${claim} value does not match. Got = ${got}, want = ${want}`,
      );
    }
  }
}

interface Evaluable<Input> {
  readonly text: string;
  evaluate(input: Input): Evaluation;
}

/** All are evaluated before any is judged. */
function checkRules<Input>(
  rules: readonly Rule<Evaluable<Input>>[],
  input: Input,
  what: string,
): void {
  const values = rules.map(({ when }) => evaluated(when, input, what));
  rules.forEach(({ when, message }, at) => {
    if (values[at] === true) return;
    throw new ClaimFault(`${what}validation expression '${when.text}' failed: ${message}`);
  });
}

function evaluated<Input>(expression: Evaluable<Input>, input: Input, what: string): Value {
  const result = expression.evaluate(input);
  if (result.ok) return result.value;
  const { error } = result;
  throw new ClaimFault(`${what}expression '${expression.text}' resulted in error: ${error}`);
}

/** A text or a list of them; empty ones and nothing at all do not count. */
function textsOf(value: Value, what: string): string[] {
  const values = value instanceof CelList ? [...value] : value === null ? [] : [value];
  if (!values.every((one) => typeof one === "string")) {
    throw new ClaimFault(`${what}expression must return a string or a list of strings`);
  }
  return values.filter((one) => one !== "");
}

function textClaim(claims: Claims, claim: string, what: string): string {
  const value = Object.hasOwn(claims, claim) ? (claims[claim] ?? "") : undefined;
  if (typeof value === "string") return value;
  const why = value === undefined ? "claim not present" : notText(value);
  throw new ClaimFault(`oidc: parse ${what} "${claim}": ${why}`);
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
