/**
 * How long pods take on a real node, and how long the same CRI calls take when they are made bare.
 * Runs inside the node's network: the API server and the runtime are asked directly.
 */
import { join } from "node:path";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { Informer } from "#client/informer.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { type CriClient, createCriClient } from "#kubelet/cri/cri-client.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type BarePod, prepareBarePod } from "./bare-pod.ts";
import { median, timed } from "./stream-times.ts";

export interface PodTimesSettings {
  readonly kubeconfig: string;
  readonly endpoint: string;
  readonly node: string;
  readonly image: string;
  readonly cgroupParent: string;
  /** For files of the bare calls. */
  readonly folder: string;
  readonly rounds: number;
  readonly burst: number;
  /** False: without the bare calls, whose sandboxes upstream's kubelet removes because it does not know them. */
  readonly withBare: boolean;
}

export interface PodTimes {
  readonly readyMs: number;
  readonly bareReadyMs: number;
  readonly burstPerSecond: number;
  readonly bareBurstPerSecond: number;
  readonly goneMs: number;
  readonly bareGoneMs: number;
}

export async function podTimes(settings: PodTimesSettings): Promise<PodTimes> {
  const { kubeconfig, endpoint, rounds, burst, withBare } = settings;
  using transport = new HttpsTransport(connectionFromFile(kubeconfig), "bench");
  const tools = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const client = new Client({ ...tools, transport, fieldManager: "bench" });
  using cri = createCriClient({ endpoint });
  const life = new AbortController();
  const pods = new Informer<Pod>({ ...tools, client, kind: podKind, namespace: "default" });
  void pods.run(life.signal);
  await pods.synced;
  const seen = (name: string, isThere: (pod: Pod | undefined) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const done = new AbortController();
      const look = (): void => {
        if (!isThere(pods.cache.get("default", name))) return;
        done.abort();
        resolve();
      };
      pods.on(look, done.signal);
      look();
    });
  const create = async (name: string): Promise<void> => {
    const answer = await client.create(podKind, podOf(name, settings));
    if (!answer.ok) throw new Error(answer.status.message);
    await seen(name, isReady);
  };
  const remove = async (name: string): Promise<void> => {
    const answer = await client.delete(podKind, { namespace: "default", name }, {});
    if (!answer.ok) throw new Error(answer.status.message);
    await seen(name, (pod) => pod === undefined);
  };
  await create("warm");
  await remove("warm");
  const times: Record<"ready" | "gone" | "bareReady" | "bareGone", number[]> = {
    ...{ ready: [], gone: [], bareReady: [], bareGone: [] },
  };
  for (let round = 0; round < rounds; round++) {
    times.ready.push(await timed(() => create(`one-${round}`)));
    times.gone.push(await timed(() => remove(`one-${round}`)));
    if (!withBare) continue;
    const bare = await bareRun(cri, settings, `bare-${round}`);
    times.bareReady.push(await timed(bare.start));
    times.bareGone.push(await timed(bare.stop));
  }
  const names = Array.from({ length: burst }, (_, i) => `burst-${i}`);
  const burstMs = await timed(() => Promise.all(names.map(create)));
  await Promise.all(names.map(remove));
  const bares = await Promise.all(
    (withBare ? names : []).map((name) => bareRun(cri, settings, `bare-${name}`)),
  );
  const bareBurstMs = await timed(() => Promise.all(bares.map(({ start }) => start())));
  await Promise.all(bares.map(({ stop }) => stop()));
  life.abort();
  return {
    readyMs: median(times.ready),
    bareReadyMs: median(times.bareReady),
    burstPerSecond: (burst * 1000) / burstMs,
    bareBurstPerSecond: (burst * 1000) / bareBurstMs,
    goneMs: median(times.gone),
    bareGoneMs: median(times.bareGone),
  };
}

function podOf(name: string, { node, image }: PodTimesSettings): Pod {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, status: {} },
    spec: {
      ...{ nodeName: node, automountServiceAccountToken: false, enableServiceLinks: false },
      containers: [{ name: "main", image, imagePullPolicy: "Never", resources: {} }],
    },
  };
}

function isReady(pod: Pod | undefined): boolean {
  return (pod?.status.conditions ?? []).some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
}

function bareRun(cri: CriClient, settings: PodTimesSettings, name: string): Promise<BarePod> {
  const { metadata, ...pod } = podOf(name, settings);
  return prepareBarePod(cri, {
    pod: { ...pod, metadata: { ...metadata, uid: name } },
    cgroupParent: `${settings.cgroupParent}/pod${name}`,
    folder: join(settings.folder, name),
  });
}
