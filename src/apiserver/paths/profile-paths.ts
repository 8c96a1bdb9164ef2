/**
 * /debug/pprof/profile and /debug/pprof/heap: what the process spends its time on, and who allocates,
 * sampled for `?seconds=`. The answers are in V8's forms, which the browser's developer tools and
 * speedscope open (.cpuprofile, .heapprofile). One profile is taken at a time.
 */
import { Session } from "node:inspector/promises";
import { badRequestStatus, tooManyRequestsStatus } from "#api/meta/status.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { PathHandler } from "../request/handler.ts";
import { type Answer, answer, statusAnswer, textAnswer } from "../response/answer.ts";

const DEFAULT_SECONDS = 10;
const SECONDS_MAX = 30;
const INDEX = `/debug/pprof/
profile?seconds=N  CPU profile of this process (V8 .cpuprofile)
heap?seconds=N     allocations that are still in use (V8 .heapprofile)
`;

type Take = (session: Session, wait: () => Promise<void>) => Promise<object>;

const PROFILES: ReadonlyMap<string, readonly [take: Take, file: string]> = new Map([
  ["/debug/pprof/profile", [takeCpuProfile, "k8ts.cpuprofile"]],
  ["/debug/pprof/heap", [takeHeapProfile, "k8ts.heapprofile"]],
]);

export function profilePaths(clock: Clock): PathHandler {
  let busy = false;
  const sample = async (take: Take, file: string, query: URLSearchParams): Promise<Answer> => {
    const seconds = Number(query.get("seconds") ?? DEFAULT_SECONDS);
    if (!(seconds > 0 && seconds <= SECONDS_MAX)) {
      return statusAnswer(
        badRequestStatus(`seconds must be greater than 0 and at most ${SECONDS_MAX}`),
      );
    }
    if (busy) return statusAnswer(tooManyRequestsStatus("a profile is being taken", SECONDS_MAX));
    busy = true;
    const session = new Session();
    session.connect();
    try {
      const taken = await take(session, () => clock.sleep(seconds * 1000));
      return download(taken, file);
    } finally {
      session.disconnect();
      busy = false;
    }
  };
  return ({ path, query }) => {
    if (path === "/debug/pprof" || path === "/debug/pprof/") return textAnswer(200, INDEX);
    const profile = PROFILES.get(path);
    return profile === undefined ? undefined : sample(...profile, query);
  };
}

async function takeCpuProfile(session: Session, wait: () => Promise<void>): Promise<object> {
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  await wait();
  const { profile } = await session.post("Profiler.stop");
  return profile;
}

async function takeHeapProfile(session: Session, wait: () => Promise<void>): Promise<object> {
  await session.post("HeapProfiler.startSampling");
  await wait();
  const { profile } = await session.post("HeapProfiler.stopSampling");
  return profile;
}

function download(profile: object, file: string): Answer {
  const bytes = Buffer.from(JSON.stringify(profile));
  return answer(
    200,
    { form: "bytes", contentType: "application/json", bytes },
    { headers: { "content-disposition": `attachment; filename="${file}"` } },
  );
}
