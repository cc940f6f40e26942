/** The result of the work, or `full` if the queue was full and the work did not start. */
export type Taken<T> = { value: T } | 'full'

/** Limits concurrency: at most `atOnce` run, and at most `waiting` wait, in order of arrival. */
export function turns({ atOnce, waiting: most }: { atOnce: number; waiting: number }) {
  let running = 0
  const waiting: (() => void)[] = []
  return async function take<T>(work: () => Promise<T>): Promise<Taken<T>> {
    if (running >= atOnce) {
      if (waiting.length >= most) return 'full'
      // Finished work hands its slot to the next in the queue, so that new arrivals cannot overtake.
      await new Promise<void>((next) => waiting.push(next))
    } else running++
    try {
      return { value: await work() }
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
