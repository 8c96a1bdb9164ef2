/** `hugepages-2Mi`: the resource of huge pages of a size. */
export function hugePagesName(kilobytes: number): string {
  if (kilobytes < 1024) return `hugepages-${kilobytes}Ki`;
  const isGibibytes = kilobytes >= 1024 * 1024;
  return `hugepages-${isGibibytes ? `${kilobytes / 1024 / 1024}Gi` : `${kilobytes / 1024}Mi`}`;
}
