/**
 * Drains a node: shows first what happens to each pod and whether its PodDisruptionBudgets allow it now, then
 * cordons the node and evicts. Evictions that a budget refuses are tried again until the dialog is closed.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { withDryRun } from "../models/actions.ts";
import { canDrain, type DrainStep, drainPlan } from "../models/drain-plan.ts";
import type { KubeObject, PodObject } from "../models/kube-object.ts";
import { podPath } from "../models/terminal-target.ts";
import { ApiError, callApi } from "../state/api.ts";
import { useObjects } from "../state/use-live.ts";
import { Problem } from "./problem.tsx";

const RETRY_MS = 5_000;
const TOO_MANY_REQUESTS = 429;
const NOT_FOUND = 404;
const EVICTIONS_AT_ONCE = 10;

export function DrainDialog(props: { readonly node: KubeObject; close(): void }) {
  const { node, close } = props;
  const { name } = node.metadata;
  const dialog = useRef<HTMLDialogElement>(null);
  const [force, setForce] = useState(false);
  const [deletesEmptyDirs, setDeletesEmptyDirs] = useState(false);
  const [isDraining, setDraining] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  const [answers, setAnswers] = useState<ReadonlyMap<string, string>>(new Map());
  const life = useRef(new AbortController());
  const pods = useObjects<PodObject>({
    path: "/api/v1/pods",
    fieldSelector: `spec.nodeName=${name}`,
  });
  const steps = drainPlan(pods.objects, { force, deletesEmptyDirs });
  const leaving = steps.filter(({ verdict }) => verdict.does === "evict");
  useEffect(() => {
    dialog.current?.showModal();
    return () => life.current.abort();
  }, []);
  // The preview asks the server once for every pod that would leave.
  const names = leaving.map(({ pod }) => pod.metadata.uid).join(" ");
  useEffect(() => {
    if (isDraining || !pods.isReady) return;
    void inTurns(leaving, async (step) => note(step, await evict(step.pod, true)));
  }, [names, pods.isReady, isDraining]);

  const note = ({ pod }: DrainStep, answer: string): void =>
    setAnswers((known) => new Map(known).set(pod.metadata.uid ?? "", answer));
  const drain = async (): Promise<void> => {
    setDraining(true);
    try {
      await callApi(`/api/v1/nodes/${encodeURIComponent(name)}`, {
        method: "PATCH",
        contentType: "application/merge-patch+json",
        body: { spec: { unschedulable: true } },
      });
      let left: readonly DrainStep[] = leaving;
      while (left.length > 0 && !life.current.signal.aborted) {
        const refused: DrainStep[] = [];
        await inTurns(left, async (step) => {
          const answer = await evict(step.pod, false);
          note(step, answer === "" ? "leaving" : answer);
          if (answer !== "") refused.push(step);
        });
        left = refused;
        if (left.length > 0) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setDraining(false);
    }
  };
  return (
    <dialog ref={dialog} class="confirmation" aria-label={`Drain ${name}`} onClose={close}>
      <h2>Drain {name}</h2>
      <p>
        The scheduler places no more pods on the node, and its pods are evicted. Their controllers
        make them anew on other nodes.
      </p>
      <Problem text={problem ?? pods.error} />
      <p>
        <label>
          <input type="checkbox" checked={force} onChange={() => setForce(!force)} /> evict pods
          without a controller
        </label>{" "}
        <label>
          <input
            type="checkbox"
            checked={deletesEmptyDirs}
            onChange={() => setDeletesEmptyDirs(!deletesEmptyDirs)}
          />{" "}
          lose the data of emptyDir volumes
        </label>
      </p>
      {isDraining && pods.isReady && leaving.length === 0 && (
        <p role="status">The node is drained.</p>
      )}
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">What happens</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step.pod.metadata.uid}>
              <td>
                {step.pod.metadata.namespace}/{step.pod.metadata.name}
              </td>
              <td>{textOf(step, answers.get(step.pod.metadata.uid ?? ""))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!isDraining && (
        <button
          type="button"
          class="danger"
          disabled={!pods.isReady || !canDrain(steps)}
          onClick={() => void drain()}
        >
          Drain {leaving.length} pods
        </button>
      )}{" "}
      <button type="button" onClick={close}>
        {isDraining ? "Close" : "Cancel"}
      </button>
    </dialog>
  );
}

function textOf({ verdict }: DrainStep, answer: string | undefined): string {
  switch (verdict.does) {
    case "stay":
      return `stays: ${verdict.why}`;
    case "refuse":
      return `cannot be evicted: ${verdict.why}`;
    case "evict": {
      const warning = verdict.warning === "" ? "" : ` (${verdict.warning})`;
      if (answer === undefined) return `is evicted${warning}`;
      return answer === "" ? `is evicted, its budgets allow it${warning}` : answer;
    }
  }
}

/** Returns why the server refuses for now; an empty text if it does not. */
async function evict({ metadata }: PodObject, isTrial: boolean): Promise<string> {
  const { namespace = "", name } = metadata;
  const path = `${podPath({ namespace, pod: name })}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
  try {
    await callApi(isTrial ? withDryRun(path) : path, { method: "POST", body });
    return "";
  } catch (error) {
    if (error instanceof ApiError && error.code === NOT_FOUND) return "";
    if (isTrial || (error instanceof ApiError && error.code === TOO_MANY_REQUESTS))
      return error instanceof Error ? error.message : String(error);
    throw error;
  }
}

async function inTurns<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < all.length; start += EVICTIONS_AT_ONCE)
    await Promise.all(all.slice(start, start + EVICTIONS_AT_ONCE).map(act));
}
