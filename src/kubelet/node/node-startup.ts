/**
 * How long it took until the node was ready, under upstream's names: from the machine's start to the
 * kubelet's, from there to the first attempt to register, until the node was registered, until it was Ready.
 * Only a node that this kubelet has made is measured: one that was there already did not start now.
 */
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface NodeStartup {
  /** The node is about to be registered. */
  attempted(): void;
  /** It was made. */
  registered(): void;
  /** The server has a status that says Ready. */
  ready(): void;
}

/** `uptimeSeconds`: of the machine, now. The kubelet starts now. */
export function addNodeStartup(
  metrics: Metrics,
  clock: Pick<Clock, "elapsedMs">,
  uptimeSeconds: number,
): NodeStartup {
  const gauge = (name: string, help: string) =>
    metrics.gauge({ name: `kubelet_node_startup_${name}duration_seconds`, help })();
  const preKubelet = gauge("pre_kubelet_", "From the machine's start to the kubelet's.");
  const preRegistration = gauge("pre_registration_", "From the kubelet's start to registration.");
  const registration = gauge("registration_", "From the first attempt to register to success.");
  const postRegistration = gauge(
    "post_registration_",
    "From registration until the node is Ready.",
  );
  const total = gauge("", "From the machine's start until the node is Ready.");
  const nowSeconds = (): number => clock.elapsedMs() / 1000;
  const startSeconds = nowSeconds();
  let attemptSeconds: number | undefined;
  let registeredSeconds: number | undefined;
  let isReady = false;
  return {
    attempted: () => {
      attemptSeconds ??= nowSeconds();
    },
    registered: () => {
      if (attemptSeconds === undefined || registeredSeconds !== undefined) return;
      registeredSeconds = nowSeconds();
      preKubelet.set(uptimeSeconds);
      preRegistration.set(attemptSeconds - startSeconds);
      registration.set(registeredSeconds - attemptSeconds);
    },
    ready: () => {
      if (registeredSeconds === undefined || isReady) return;
      isReady = true;
      postRegistration.set(nowSeconds() - registeredSeconds);
      total.set(uptimeSeconds + nowSeconds() - startSeconds);
    },
  };
}
