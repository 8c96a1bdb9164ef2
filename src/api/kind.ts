/**
 * A kind is one record: its names, its type, and the rules that make it that kind. The API server,
 * the client and the command line know kinds only through this record.
 *
 * Promises to the rules:
 * 1. Objects handed to a rule are normalised: decoded through the kind's schema, so every field has
 *    the right JSON type, unknown fields are gone and quantities, times and durations are canonical.
 *    An empty list is as good as none, and absent; only those that must not be empty are kept.
 * 2. `defaults` and the `prepare…` hooks own the draft they get and change it in place.
 * 3. `validate…` hooks see a finished object and must not change it. They return every fault, in
 *    the order in which users see them.
 * 4. The order on a create is: defaults, (mutating admission), prepareCreate, validate, (validating
 *    admission); on an update the same with prepareUpdate and validateUpdate.
 * 5. metadata is checked by the server for all kinds alike (`nameRule` is the kind's part of it).
 */

import type { FieldFilter } from "#api/apply/versions.ts";
import type { DeletionRules } from "#api/deletion-rules.ts";
import type { ExpressionCompiler } from "#api/expressions.ts";
import type { UserInfo } from "#api/generated/authentication.v1.ts";
import type { ObjectMeta, TableRowCondition, TypeMeta } from "#api/generated/meta.v1.ts";
import type { SignatureChecker } from "#api/kinds/certificates/x509.ts";
import type { Measure } from "#api/quota/measure.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import type { FieldErrors } from "#api/validation/field-errors.ts";
import type { Steps } from "#lib/async/steps.ts";
import type { Result } from "./meta/status.ts";

/** Any object with metadata; what is stored and watched. */
export interface KubeObject extends TypeMeta {
  readonly metadata: ObjectMeta;
}

/** The same type with every `readonly` taken off, all the way down. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? Draft<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Draft<T[Key]> }
    : T;

export interface KindNames {
  readonly kind: string;
  readonly plural: string;
  /** Lower-case kind unless given. */
  readonly singular?: string;
  /** `${kind}List` unless given. */
  readonly list?: string;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
}

export type Verb =
  | "create"
  | "delete"
  | "deletecollection"
  | "get"
  | "list"
  | "patch"
  | "update"
  | "watch";

/** What a rule may know beside the object. Nothing here does IO. */
export interface RuleContext {
  readonly nowMs: number;
  /** The name in the request's path, on updates; "" otherwise. */
  readonly requestName?: string;
  /** Privileged containers are allowed (the server's --allow-privileged); not unless said so. */
  readonly allowPrivileged?: boolean;
  /** Names of features that are off by default and on in this server. */
  readonly features?: readonly string[];
  /** Who writes. */
  readonly user?: UserInfo;
  /** Of the namespace that the object is in; rules that need them pass without. */
  readonly namespaceLabels?: () => Readonly<Record<string, string>> | undefined;
  /** Checks signatures in certificate requests; without it they are taken on trust. */
  readonly signatures?: SignatureChecker;
  /** Compiles the expressions that an object holds; without it they are taken on trust. */
  readonly expressions?: ExpressionCompiler;
  /** Takes a warning that only a prepare hook can give, since the hook removes its cause. */
  readonly warn?: (message: string) => void;
}

/** Faults of a name; each entry is one message. `prefix`: the name will get a random tail. */
export type NameRule = (name: string, prefix: boolean) => readonly string[];

export interface Column<T> {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** The field whose API description describes the column too: `apps.v1.ReplicaSetSpec.replicas`. */
  readonly describedBy?: string;
  /** 0: always shown; 1: with -o wide. */
  readonly priority?: 0 | 1;
  /** A cell that has no column definition: IPAddress has one, and clients see it. */
  readonly headless?: boolean;
  cell(object: T, nowMs: number): string | number | boolean | null;
}

export interface KindSpec<T extends KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly names: KindNames;
  readonly scope: "Namespaced" | "Cluster";
  /** What its objects look like. Made when it is first asked for, and always the same. */
  schema(): StructSchema;
  /** All of them unless given. */
  readonly verbs?: readonly Verb[];
  /** As a `NameRule`. `object`: whose name it is, where the name follows from the rest. */
  nameRule(name: string, prefix: boolean, object?: T): readonly string[];
  /** A warning that comes with every answer about the kind, refusals included. */
  readonly deprecation?: string;
  /** metadata.generation counts spec changes. */
  readonly generation?: boolean;
  /** Answered at once and never stored, so that it needs no name: the reviews. */
  readonly transient?: boolean;
  /** PUT to a name that is not there creates it. */
  readonly createOnUpdate?: boolean;
  /** An update without resourceVersion is taken as "whatever is there". */
  readonly unconditionalUpdate?: boolean;

  /** Why an object of the right form cannot be read all the same; undefined if it can. */
  unreadable?(object: T): string | undefined;
  defaults?(draft: Draft<T>): void;
  prepareCreate?(draft: Draft<T>, context: RuleContext): void;
  validate?(object: T, context: RuleContext): FieldErrors;
  prepareUpdate?(draft: Draft<T>, old: T, context: RuleContext): void;
  validateUpdate?(object: T, old: T, context: RuleContext): FieldErrors;
  /** Warning headers; `old` only on updates. */
  warnings?(object: T, old: T | undefined, context?: RuleContext): readonly string[];
  /** Brings a valid object into its canonical form after validation (rarely needed). */
  canonicalize?(draft: Draft<T>): void;

  /** `generateName` is taken as the name itself: names mean something. */
  readonly namesAreGiven?: boolean;
  /** What differs when one of its objects is deleted. */
  readonly deletion?: DeletionRules<T>;
  /** What a write to a subresource ("" for the object itself) cannot change; see `resetFieldsOf`. */
  readonly resetFields?: Readonly<Record<string, FieldFilter>>;
  /** How quota counts its objects: as `count/PLURAL.GROUP` unless given. */
  readonly quota?: Measure | "none";

  /** Where its objects are below `/registry/` in the store; the plural unless given. */
  readonly storagePath?: string;
  /** Stored as JSON also where others are stored as protobuf. */
  readonly storedForm?: "json";
  /** The version that discovery's storage hash names; that of the stored kind unless given. */
  readonly storageVersion?: string;
  /** Reads what upstream stores in a version that is not served any more. */
  readonly fromOldVersion?: (object: KubeObject) => KubeObject;
  /** Objects are gone after the time that `--event-ttl` says. */
  readonly expires?: "event-ttl";
  /** Objects hold JSON of others, in which whole numbers keep all their digits. */
  readonly holdsFreeJson?: boolean;

  /** Named subresources that write the same object: status, approval, resize, … */
  readonly subresources?: Readonly<Record<string, SubresourceSpec<T>>>;
  /** Where the scale subresource finds its numbers. */
  readonly scale?: ScalePaths;
  /** Subresources that do not write the object itself. The server knows their verbs by name. */
  readonly extraSubresources?: readonly SubresourceRoute[];

  readonly columns: readonly Column<T>[];
  /** The order of table rows; that of the list unless given. */
  compareRows?(a: T, b: T): number;
  /** Conditions of the object's table row; none unless given. */
  rowConditions?(object: T): readonly TableRowCondition[];
  /** Of custom resources, which are defined while the server runs. */
  readonly custom?: CustomKind;
  /** Field selector values beside metadata.name and metadata.namespace. */
  selectableFields?(object: T): Readonly<Record<string, string>>;

  /** The selectable field that many watchers select by; they are looked up by its value. */
  readonly triggerField?: string;
  /** What is said of a field that cannot be selected, in the words of kinds that have their own. */
  unsupportedFieldText?(field: string, apiVersion: string): string;

  /** Kinds served in several versions: the version that is stored and validated. */
  readonly storedAs?: StoredAs<T>;
}

/** A custom resource speaks JSON and YAML only and takes no strategic merge patches. */
export interface CustomKind {
  /** Its type for server-side apply: `schema` of a custom resource only knows its metadata. */
  appliedSchema(): StructSchema;
  /** Its definition is being deleted: no more objects can be created. */
  isTerminating(): boolean;
  /** Removes unknown fields; returns their paths, in order. */
  prune(draft: Draft<KubeObject>): Steps<readonly string[]>;
  /** What `defaults` does, in steps. */
  defaultSteps(draft: Draft<KubeObject>): Steps<void>;
  /** What `fromStore` depends on: kinds with equal ones read stored objects alike. */
  readonly storedSchema?: unknown;
  /** An object from the store as the definition of today has it: pruned, with defaults. */
  fromStore(stored: KubeObject): KubeObject;
  /**
   * Of the stored version, if a webhook converts between versions: objects that were stored in another
   * version stay in it in the cache, and are converted where they are read.
   */
  readonly convertOlder?: RemoteConversion["fromStored"];
  /** Its OpenAPI definition. What it refers to are built-in definitions. */
  publishedSchema(dialect: "v2" | "v3"): Readonly<Record<string, unknown>>;
}

/** A write to `…/name/<subresource>`: what of the old object it may change. */
export interface SubresourceSpec<T> {
  prepareUpdate(draft: Draft<T>, old: T, context: RuleContext): void;
  validateUpdate?(object: T, old: T, context: RuleContext): FieldErrors;
  warnings?(object: T, old: T): readonly string[];
}

export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly selector: string;
}

/**
 * Conversion to and from the version that is stored. Both directions keep everything. The defaults
 * of the served version run before `toStored`; those of the stored version do not run after it.
 */
export interface StoredAs<T> {
  readonly group: string;
  readonly version: string;
  toStored(object: T): KubeObject;
  fromStored(stored: KubeObject): T;
  /** Versions that a webhook converts. The two functions above are not called then. */
  readonly remote?: RemoteConversion;
}

/** Conversion that leaves the process. Objects come back in the order in which they were given. */
export interface RemoteConversion {
  toStored(objects: readonly KubeObject[]): Promise<Result<readonly KubeObject[]>>;
  fromStored(stored: readonly KubeObject[]): Promise<Result<readonly KubeObject[]>>;
}

/** A finished kind, its type forgotten, so that kinds can stand in one table. */
// biome-ignore lint/suspicious/noExplicitAny: a registry of kinds of different types needs a type that any kind fits
export type Kind = Required<Pick<KindSpec<any>, "group" | "version" | "scope" | "schema">> &
  // biome-ignore lint/suspicious/noExplicitAny: as above
  Omit<KindSpec<any>, "names" | "verbs"> & {
    readonly names: Required<KindNames>;
    readonly verbs: readonly Verb[];
    readonly apiVersion: string;
  };

/** A kind whose object type is still known: what typed clients and caches take. */
export type KindOf<T extends KubeObject> = Kind & { readonly $object?: T };

export function defineKind<T extends KubeObject>(spec: KindSpec<T>): KindOf<T> {
  const { kind, plural } = spec.names;
  return {
    ...spec,
    names: {
      kind,
      plural,
      singular: spec.names.singular ?? kind.toLowerCase(),
      list: spec.names.list ?? `${kind}List`,
      short: spec.names.short ?? [],
      categories: spec.names.categories ?? [],
    },
    verbs: spec.verbs ?? ALL_VERBS,
    apiVersion: spec.group === "" ? spec.version : `${spec.group}/${spec.version}`,
  };
}

const ALL_VERBS: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** Sets the kind's defaults; in steps where objects may be large. */
export function* defaultSteps(kind: Kind, draft: Draft<KubeObject>): Steps<void> {
  if (kind.custom === undefined) kind.defaults?.(draft);
  else yield* kind.custom.defaultSteps(draft);
}
