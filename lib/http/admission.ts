import { Problem } from '#lib/kernel/problem.ts'

export interface Admission {
  /** Runs the work when fewer than `most` others run. @throws `unavailable` if it would have to wait longer than `patience` */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Rejects work early instead of building a queue of many seconds. `patience` in milliseconds. */
export function admission({ most, patience }: { most: number; patience: number }): Admission {
  let running = 0
  const waiting = new Set<() => void>()

  const turn = (): Promise<void> =>
    new Promise((admitted, refused) => {
      const next = () => {
        clearTimeout(timer)
        waiting.delete(next)
        admitted()
      }
      const timer = setTimeout(() => {
        waiting.delete(next)
        refused(
          new Problem('unavailable', {
            detail: 'Too many requests of this kind are running. Nothing of this was done. Send it again later.',
            headers: { 'Retry-After': '2' },
          }),
        )
      }, patience)
      waiting.add(next)
    })

  return {
    async run(work) {
      if (running >= most) await turn()
      else running++
      try {
        return await work()
      } finally {
        // The slot is passed directly to the request that has waited longest.
        const [next] = waiting
        if (next) next()
        else running--
      }
    },
  }
}
