/** Microseconds of processor time that this process spends on synchronous work. Unlike wall time, it does not depend on other processes. */
export function processorTime(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}
