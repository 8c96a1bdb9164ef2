/**
 * The grammar of CEL. Left recursion is written as a loop whose turns have a precedence, as parser
 * generators rewrite it: that form decides which texts syntax errors get.
 */
import { kindOf, type TokenName } from "./tokens.ts";

export type RuleName =
  | "start"
  | "expr"
  | "conditionalOr"
  | "conditionalAnd"
  | "relation"
  | "calc"
  | "unary"
  | "member"
  | "primary"
  | "exprList"
  | "listInit"
  | "fieldInitializerList"
  | "optField"
  | "mapInitializerList"
  | "escapeIdent"
  | "optExpr"
  | "literal";

/** What a parsed part is filed under in its node. */
export type Label =
  | "e"
  | "e1"
  | "e2"
  | "op"
  | "opt"
  | "id"
  | "open"
  | "args"
  | "index"
  | "dot"
  | "elems"
  | "entries"
  | "cols"
  | "values"
  | "operand"
  | "sign"
  | "tok";

export type Item =
  | {
      readonly type: "token";
      readonly kinds: ReadonlySet<number>;
      readonly label: Label | undefined;
    }
  | {
      readonly type: "rule";
      readonly rule: RuleName;
      readonly label: Label | undefined;
      readonly precedence: number;
    }
  | { readonly type: "optional" | "star" | "plus"; readonly body: Sequence };

export type Sequence = readonly Item[];

export interface Alternative {
  /** The name that the node takes; nodes of rules with one form take the rule's. */
  readonly form: Form | undefined;
  readonly items: Sequence;
  /** Of a turn of a left-recursive loop. */
  readonly precedence?: number;
}

export type Form =
  | RuleName
  | "not"
  | "negate"
  | "memberExpr"
  | "primaryExpr"
  | "select"
  | "memberCall"
  | "indexing"
  | "ident"
  | "globalCall"
  | "nested"
  | "createList"
  | "createMap"
  | "createMessage"
  | "constant"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "true"
  | "false"
  | "null"
  | "simpleIdentifier"
  | "escapedIdentifier";

export interface Rule {
  readonly alternatives: readonly Alternative[];
  /** Turns of the loop that follows the first alternative, for rules that begin with themselves. */
  readonly turns?: readonly Alternative[];
}

export const GRAMMAR: Readonly<Record<RuleName, Rule>> = {
  start: one(ref("expr", "e"), token("<EOF>")),
  expr: one(
    ref("conditionalOr", "e"),
    optional(token("'?'", "op"), ref("conditionalOr", "e1"), token("':'"), ref("expr", "e2")),
  ),
  conditionalOr: one(
    ref("conditionalAnd", "e"),
    star(token("'||'", "op"), ref("conditionalAnd", "e1")),
  ),
  conditionalAnd: one(ref("relation", "e"), star(token("'&&'", "op"), ref("relation", "e1"))),
  relation: {
    alternatives: [as(undefined, ref("calc", "e"))],
    turns: [
      turn(
        1,
        "relation",
        oneOf("op", "'<'", "'<='", "'>='", "'>'", "'=='", "'!='", "'in'"),
        ref("relation", "e1", 2),
      ),
    ],
  },
  calc: {
    alternatives: [as(undefined, ref("unary", "e"))],
    turns: [
      turn(2, "calc", oneOf("op", "'*'", "'/'", "'%'"), ref("calc", "e1", 3)),
      turn(1, "calc", oneOf("op", "'+'", "'-'"), ref("calc", "e1", 2)),
    ],
  },
  unary: {
    alternatives: [
      as("memberExpr", ref("member", "e")),
      as("not", plus(token("'!'", "op")), ref("member", "e")),
      as("negate", plus(token("'-'", "op")), ref("member", "e")),
    ],
  },
  member: {
    alternatives: [as("primaryExpr", ref("primary", "e"))],
    turns: [
      turn(
        3,
        "select",
        token("'.'", "op"),
        optional(token("'?'", "opt")),
        ref("escapeIdent", "id"),
      ),
      turn(
        2,
        "memberCall",
        token("'.'", "op"),
        token("IDENTIFIER", "id"),
        token("'('", "open"),
        optional(ref("exprList", "args")),
        token("')'"),
      ),
      turn(
        1,
        "indexing",
        token("'['", "op"),
        optional(token("'?'", "opt")),
        ref("expr", "index"),
        token("']'"),
      ),
    ],
  },
  primary: {
    alternatives: [
      as("ident", optional(token("'.'", "dot")), token("IDENTIFIER", "id")),
      as(
        "globalCall",
        optional(token("'.'", "dot")),
        token("IDENTIFIER", "id"),
        token("'('", "op"),
        optional(ref("exprList", "args")),
        token("')'"),
      ),
      as("nested", token("'('"), ref("expr", "e"), token("')'")),
      as(
        "createList",
        token("'['", "op"),
        optional(ref("listInit", "elems")),
        optional(token("','")),
        token("']'"),
      ),
      as(
        "createMap",
        token("'{'", "op"),
        optional(ref("mapInitializerList", "entries")),
        optional(token("','")),
        token("'}'"),
      ),
      as(
        "createMessage",
        optional(token("'.'", "dot")),
        token("IDENTIFIER", "id"),
        star(token("'.'"), token("IDENTIFIER", "id")),
        token("'{'", "op"),
        optional(ref("fieldInitializerList", "entries")),
        optional(token("','")),
        token("'}'"),
      ),
      as("constant", ref("literal", "e")),
    ],
  },
  exprList: one(ref("expr", "e"), star(token("','"), ref("expr", "e"))),
  listInit: one(ref("optExpr", "elems"), star(token("','"), ref("optExpr", "elems"))),
  fieldInitializerList: one(...entry("optField"), star(token("','"), ...entry("optField"))),
  optField: one(optional(token("'?'", "opt")), ref("escapeIdent", "id")),
  mapInitializerList: one(...entry("optExpr"), star(token("','"), ...entry("optExpr"))),
  escapeIdent: {
    alternatives: [
      as("simpleIdentifier", token("IDENTIFIER", "id")),
      as("escapedIdentifier", token("ESC_IDENTIFIER", "id")),
    ],
  },
  optExpr: one(optional(token("'?'", "opt")), ref("expr", "e")),
  literal: {
    alternatives: [
      as("int", optional(token("'-'", "sign")), token("NUM_INT", "tok")),
      as("uint", token("NUM_UINT", "tok")),
      as("double", optional(token("'-'", "sign")), token("NUM_FLOAT", "tok")),
      as("string", token("STRING", "tok")),
      as("bytes", token("BYTES", "tok")),
      as("true", token("'true'", "tok")),
      as("false", token("'false'", "tok")),
      as("null", token("'null'", "tok")),
    ],
  },
};

function entry(key: "optField" | "optExpr"): Item[] {
  return [ref(key, "elems"), token("':'", "cols"), ref("expr", "values")];
}

function one(...items: Item[]): Rule {
  return { alternatives: [as(undefined, ...items)] };
}

function as(form: Form | undefined, ...items: Item[]): Alternative {
  return { form, items };
}

function turn(precedence: number, form: Form, ...items: Item[]): Alternative {
  return { form, items, precedence };
}

function token(name: TokenName, label?: Label): Item {
  return { type: "token", kinds: new Set([kindOf(name)]), label };
}

function oneOf(label: Label, ...names: TokenName[]): Item {
  return { type: "token", kinds: new Set(names.map(kindOf)), label };
}

function ref(rule: RuleName, label?: Label, precedence = 0): Item {
  return { type: "rule", rule, label, precedence };
}

function optional(...body: Item[]): Item {
  return { type: "optional", body };
}

function star(...body: Item[]): Item {
  return { type: "star", body };
}

function plus(...body: Item[]): Item {
  return { type: "plus", body };
}
