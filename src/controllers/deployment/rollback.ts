/** The old way to undo a rollout: an annotation names the revision to go back to. */

import type { Deployment } from "#api/generated/apps.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import type { EventNote, Outcome } from "#runtime/controller.ts";
import { noted, update } from "#runtime/writes.ts";
import { lastRevision, ROLLBACK_TO, revisionOf, rolledBackAnnotations } from "./revisions.ts";
import { allOf, type Sets } from "./rollout.ts";
import { isSameTemplate, withoutHash } from "./template.ts";

export function rollbackRevision({ metadata }: Deployment): bigint | undefined {
  const text = metadata.annotations?.[ROLLBACK_TO];
  return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

/** The old way to undo: an annotation names the revision whose template becomes the current one. */
export function rollBack(deployment: Deployment, sets: Sets, asked: bigint): Outcome {
  const all = allOf(sets);
  const revision = asked === 0n ? lastRevision(all) : asked;
  const target = revision === 0n ? undefined : all.find((set) => revisionOf(set) === revision);
  const { [ROLLBACK_TO]: _, ...annotations } = deployment.metadata.annotations ?? {};
  const cleared: Deployment = { ...deployment, metadata: { ...deployment.metadata, annotations } };
  const warn = (reason: string, message: string): Outcome => ({
    writes: [update(deploymentKind, cleared)],
    events: [{ about: deployment, type: "Warning", reason, message }],
    because: "the revision to roll back to cannot be used",
  });
  if (target === undefined) {
    const what =
      asked === 0n
        ? "Unable to find last revision."
        : "Unable to find the revision to rollback to.";
    return warn("DeploymentRollbackRevisionNotFound", what);
  }
  const { name } = deployment.metadata;
  if (isSameTemplate(target.spec.template, deployment.spec.template)) {
    const message = `The rollback revision contains the same template as current deployment "${name}"`;
    return warn("DeploymentRollbackTemplateUnchanged", message);
  }
  const rolledBack: Deployment = {
    ...cleared,
    metadata: { ...cleared.metadata, annotations: rolledBackAnnotations(cleared, target) },
    spec: { ...cleared.spec, template: withoutHash(target.spec.template) },
  };
  const message = `Rolled back deployment "${name}" to revision ${revision}`;
  const onDone: EventNote = {
    about: deployment,
    type: "Normal",
    reason: "DeploymentRollback",
    message,
  };
  const writes = [noted(update(deploymentKind, rolledBack), { onDone })];
  return { writes, because: "an annotation asks for the template of an older revision" };
}
