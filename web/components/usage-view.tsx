/** Charts of the last hour's processor and memory usage of a node or pod, from the history of the metrics server. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { bytesText } from "../models/bytes-text.ts";
import type { KubeObject } from "../models/kube-object.ts";
import { coresText, type UsageHistory, usageText } from "../models/usage-history.ts";
import { callApi } from "../state/api.ts";
import { Problem } from "./problem.tsx";

const REFRESH_MS = 15_000;
const HEIGHT = 180;

export function UsageView({ object }: { readonly object: KubeObject }) {
  const { namespace, name } = object.metadata;
  const [history, setHistory] = useState<UsageHistory | undefined>();
  const [error, setError] = useState<string | undefined>();
  useEffect(() => {
    const life = new AbortController();
    const load = (): void => {
      callApi<UsageHistory>(historyPath(namespace, name), { signal: life.signal }).then(
        (answer) => {
          setHistory(answer);
          setError(undefined);
        },
        (reason: unknown) => {
          if (!life.signal.aborted) setError(explain(reason));
        },
      );
    };
    load();
    const timer = setInterval(load, REFRESH_MS);
    return () => {
      clearInterval(timer);
      life.abort();
    };
  }, [namespace, name]);
  const { timestamps = [], cpuCores = [], memoryBytes = [] } = history ?? {};
  return (
    <>
      <link rel="stylesheet" href="/uPlot.min.css" />
      <Problem text={error} />
      {history !== undefined && timestamps.length === 0 && (
        <p>No measurement yet: the first comes after two rounds of the metrics server.</p>
      )}
      {timestamps.length > 0 && (
        <>
          <Chart title="CPU" times={timestamps} values={cpuCores} text={coresText} />
          <Chart title="Memory" times={timestamps} values={memoryBytes} text={bytesText} />
        </>
      )}
    </>
  );
}

function Chart(props: {
  readonly title: string;
  readonly times: readonly number[];
  readonly values: readonly number[];
  text(value: number): string;
}) {
  const { title, times, values, text } = props;
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const drawn = new uPlot(optionsFor(element, title, text), [[], []], element);
    chart.current = drawn;
    const resize = (): void => drawn.setSize({ width: element.clientWidth, height: HEIGHT });
    addEventListener("resize", resize);
    return () => {
      removeEventListener("resize", resize);
      drawn.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData([[...times], [...values]]), [times, values]);
  return (
    <figure class="chart">
      <figcaption>
        {title}: {usageText(values, text)}
      </figcaption>
      <div ref={host} aria-hidden="true" />
    </figure>
  );
}

function optionsFor(
  element: HTMLElement,
  title: string,
  text: (value: number) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    scales: { y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    series: [{}, { label: title, stroke: colour("--link"), width: 2 }],
    axes: [axis, { ...axis, size: 80, values: (_, ticks) => ticks.map(text) }],
  };
}

function historyPath(namespace: string | undefined, name: string): string {
  const root = "/apis/metrics.k8s.io/v1beta1";
  const place =
    namespace === undefined ? "nodes" : `namespaces/${encodeURIComponent(namespace)}/pods`;
  return `${root}/${place}/${encodeURIComponent(name)}/history`;
}

function explain(reason: unknown): string {
  const message = reason instanceof Error ? reason.message : String(reason);
  return `${message} (the charts need the metrics server of k8ts)`;
}
