/**
 * Hides cgroup v2 from a machine that has it beside v1: crun refuses to run with controllers in both.
 * The folder of v2 must not be there at all, since crun would write plain files into it. The machine gets
 * a folder of its own with the trees of v1.
 */
import type { Machine } from "./machine.ts";

const SCRIPT = `
cd /sys/fs/cgroup && test -d unified || exit 0
mount -t tmpfs tmpfs /mnt
for tree in */; do
  test "$tree" = unified/ && continue
  mkdir "/mnt/$tree" && mount --bind "$tree" "/mnt/$tree" || exit 1
done
mount --move /mnt /sys/fs/cgroup`;

export async function hideCgroupV2({ run }: Machine): Promise<void> {
  const { exitCode, stderr } = await run("sh", ["-c", SCRIPT]);
  if (exitCode !== 0) throw new Error(`cgroup v2 cannot be hidden: ${stderr}`);
}
