/** The processor time of this thread in milliseconds; undefined on Nodes that cannot tell. */
export function threadCpuMs(): number | undefined {
  const { threadCpuUsage } = process as Partial<Pick<ThreadCpu, "threadCpuUsage">>;
  const { user, system } = threadCpuUsage?.call(process) ?? {};
  return user === undefined || system === undefined ? undefined : (user + system) / 1_000;
}

/** Newer Nodes have it, the type declarations do not. */
interface ThreadCpu {
  threadCpuUsage(): { readonly user: number; readonly system: number };
}
