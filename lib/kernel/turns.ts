/** Whether work was taken on: `full` where too many wait already, and nothing of it was begun. */
export type Taken<T> = { value: T } | 'full'

/** Takes work on so that only some of it runs at once; of the rest only so much waits, in the order in which it came. */
export function turns({ atOnce, waiting: most }: { atOnce: number; waiting: number }) {
  let running = 0
  const waiting: (() => void)[] = []
  return async function take<T>(work: () => Promise<T>): Promise<Taken<T>> {
    if (running >= atOnce) {
      if (waiting.length >= most) return 'full'
      // Whoever ends hands over its place, so that nobody who comes meanwhile is faster.
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
