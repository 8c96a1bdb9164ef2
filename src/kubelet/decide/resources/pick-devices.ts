/** Which devices of a resource a container gets. */

export interface DeviceChoice {
  readonly resource: string;
  readonly count: number;
  readonly healthy: readonly string[];
  /** Allocated to containers of any pod. */
  readonly taken: ReadonlySet<string>;
  /** Of the pod's init containers that have ended by then. */
  readonly reusable: readonly string[];
}

export type DeviceCandidates =
  | {
      readonly ok: true;
      /** They are part of every choice. */
      readonly mustInclude: readonly string[];
      readonly available: readonly string[];
    }
  | { readonly ok: false; readonly message: string };

/** Devices of init containers come first, so that a pod never holds more than it asks for. */
export function deviceCandidates(choice: DeviceChoice): DeviceCandidates {
  const { resource, count, healthy, taken, reusable } = choice;
  if (healthy.length === 0) {
    const message = `no healthy devices present; cannot allocate unhealthy devices ${resource}`;
    return { ok: false, message };
  }
  const mustInclude = reusable.filter((id) => healthy.includes(id)).slice(0, count);
  const free = healthy.filter((id) => !taken.has(id) && !mustInclude.includes(id));
  const needed = count - mustInclude.length;
  if (free.length < needed) {
    const message = `requested number of devices unavailable for ${resource}. Requested: ${needed}, Available: ${free.length}`;
    return { ok: false, message };
  }
  return { ok: true, mustInclude, available: [...mustInclude, ...free] };
}

/** What the plug-in prefers counts as far as it is possible. */
export function pickDevices(
  count: number,
  mustInclude: readonly string[],
  available: readonly string[],
  preferred: readonly string[] = [],
): readonly string[] {
  const isAvailable = new Set(available);
  const order = [...mustInclude, ...preferred.filter((id) => isAvailable.has(id)), ...available];
  return [...new Set(order)].slice(0, count);
}
