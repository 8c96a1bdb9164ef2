/**
 * What a write wants the object to be, given the one that is there: the change made, and the
 * managedFields that follow from it. In the version of the request.
 */
import type { Draft, KubeObject } from "#api/kind.ts";
import { conflictStatus, failure, type Result, success } from "#api/meta/status.ts";
import { assertNever } from "#lib/assert-never.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import { groupResourceOf, type VerbRequest } from "../request/verb.ts";
import { checkPlace } from "./decode-write.ts";
import { applyConfiguration, prepareTracking, trackCreate, trackUpdate } from "./managed-fields.ts";
import type { ObjectWrite, SubresourceView } from "./object-write.ts";
import { patchDocument } from "./patch-document.ts";

/** `current`: undefined if the object will be created. The result belongs to the caller. */
export function desiredObject(
  verb: VerbRequest,
  write: ObjectWrite,
  current: KubeObject | undefined,
): MaybePromise<Result<Draft<KubeObject>>> {
  const { change, options, view } = write;
  if (view !== undefined) return wantedView(verb, write, view, current!);
  switch (change.form) {
    case "create":
    case "update":
      return andThen(change.object(), (next) =>
        andThen(prepareTracking(verb, next), (tracking) => {
          if (change.form === "create") trackCreate(verb, next, options, tracking);
          else trackUpdate(verb, current, next, options, tracking);
          return success(next);
        }),
      );
    case "patch":
    case "apply":
      return patchedObject(verb, write, current);
    default:
      return assertNever(change);
  }
}

async function patchedObject(
  verb: VerbRequest,
  write: ObjectWrite,
  current: KubeObject | undefined,
): Promise<Result<Draft<KubeObject>>> {
  const next = await patched(verb, write, current);
  if (!next.ok) return next;
  if (verb.pace.isDue) await verb.pace.rest();
  if (write.change.form === "patch") {
    const tracking = await prepareTracking(verb, next.value);
    trackUpdate(verb, current, next.value, write.options, tracking);
  }
  return checkPatched(verb, next.value, current);
}

/** The sub-resource's own object. */
async function wantedView(
  verb: VerbRequest,
  write: ObjectWrite,
  view: SubresourceView,
  current: KubeObject,
): Promise<Result<Draft<KubeObject>>> {
  const { change, options } = write;
  const before = view.of(current);
  const next =
    change.form === "update" ? success(await change.object()) : await patched(verb, write, before);
  if (!next.ok) return next;
  const placed = checkPlace(verb, next.value);
  if (!placed.ok) return placed;
  const fault = view.check(next.value, current);
  if (!fault.ok) return fault;
  if (change.form !== "apply") {
    const type = { schema: view.kind.schema(), apiVersion: view.kind.apiVersion };
    trackUpdate(verb, before, next.value, options, { type });
  }
  return next;
}

function patched(
  verb: VerbRequest,
  { change, options, view }: ObjectWrite,
  current: KubeObject | undefined,
): MaybePromise<Result<Draft<KubeObject>>> {
  const kind = view?.kind ?? verb.resource.kind;
  if (change.form === "apply") {
    return applyConfiguration(verb, current, change.bytes, options, kind);
  }
  if (change.form !== "patch") throw new Error(`${change.form} is no patch`);
  return patchDocument(change.type, current!, change.bytes, kind, options, verb);
}

/** What a patch made must still be the object in the path. */
function checkPatched(
  verb: VerbRequest,
  next: Draft<KubeObject>,
  current: KubeObject | undefined,
): Result<Draft<KubeObject>> {
  const { uid = "" } = next.metadata;
  if (current === undefined && uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    return failure(conflictStatus(groupResourceOf(verb.resource), verb.info.name, why));
  }
  const placed = checkPlace(verb, next);
  return placed.ok ? success(next) : placed;
}
