/** Calls `make` on first use and memoizes its result. */
export function memoize<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
/** Calls `make` once for each object and memoizes its result while the object exists. */
export function memoizeByObject<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, { value: T }>()
  return (key) => {
    const found = made.get(key) ?? { value: make(key) }
    made.set(key, found)
    return found.value
  }
}

/**
 * Batches concurrent questions: those asked while other queries run share the next query, so that many requests cost one round trip. An
 * answer is never older than its question. `ask` returns answers in the order of the questions.
 */
export function sharedQuestion<A, B>(
  ask: (asked: A[]) => Promise<B[]>,
  { atOnce = 2, max = 500 } = {},
): (asked: A) => Promise<B> {
  type Waiting = { asked: A; answered: (answer: B) => void; failed: (error: unknown) => void }
  const waiting: Waiting[] = []
  let active = 0

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.splice(0, max)
      try {
        const answers = await ask(group.map(({ asked }) => asked))
        for (const [index, { answered }] of group.entries()) answered(answers[index] as B)
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
    }
    active--
  }

  return (asked) =>
    new Promise<B>((answered, failed) => {
      waiting.push({ asked, answered, failed })
      if (active >= atOnce) return
      active++
      // Also collects the questions asked in this turn of the event loop.
      setImmediate(() => void work())
    })
}

/** How members of one key are stored. Each may be stored only once, whichever function does it. */
interface GroupCommitSteps<M, R> {
  /** Stores one member and returns its outcome. */
  alone(member: M): Promise<R>
  /** Stores all members or none of them. Returns their outcomes in the same order. */
  together(members: readonly M[]): Promise<R[]>
  /** Whether to store each member alone after `together` failed, because the reason may concern only one of them. */
  isWorthRepeating(error: unknown): boolean
  /** Maximum number of members of a group. */
  max: number
  /** Maximum number of groups of one key at once. */
  lanes: number
}

/**
 * Lets concurrent writes share a commit: "group commit" (DeWitt et al., "Implementation Techniques for Main Memory Database Systems",
 * SIGMOD 1984). A write never waits for others to arrive: it starts at once if a lane of its key is free, and writes that arrive while all
 * lanes are busy form the next group. Resolves with the member's own outcome, after it is stored.
 */
export function groupCommit<M, R>({ alone, together, isWorthRepeating, max, lanes }: GroupCommitSteps<M, R>) {
  interface Waiting {
    member: M
    resolve(outcome: R): void
    reject(error: unknown): void
  }
  const queues = new Map<string, { waiting: Waiting[]; busy: number }>()

  const storeAlone = ({ member, resolve, reject }: Waiting): Promise<void> => alone(member).then(resolve, reject)

  async function store(group: readonly Waiting[]): Promise<void> {
    const [first] = group
    if (group.length === 1 && first) return storeAlone(first)
    try {
      const outcomes = await together(group.map(({ member }) => member))
      for (const [at, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[at]
        if (outcome === undefined) reject(new Error('a member of a group has no outcome'))
        else resolve(outcome)
      }
    } catch (error) {
      if (isWorthRepeating(error)) await Promise.all(group.map(storeAlone))
      else for (const { reject } of group) reject(error)
    }
  }

  return (key: string, member: M): Promise<R> =>
    new Promise<R>((resolve, reject) => {
      const queue = queues.get(key) ?? { waiting: [], busy: 0 }
      queues.set(key, queue)
      queue.waiting.push({ member, resolve, reject })
      if (queue.busy >= lanes) return
      queue.busy++
      void (async () => {
        while (queue.waiting.length > 0) await store(queue.waiting.splice(0, max))
        queue.busy--
        if (queue.busy === 0) queues.delete(key)
      })()
    })
}

/** The result of the work. `full`: the queue was full; `late`: it would have waited too long. In both cases the work did not start. */
type LimitedResult<T> = { value: T } | 'full' | 'late'

export interface TurnBounds {
  /** How many run concurrently, at least one. A function is asked each time, for a limit that depends on other work. */
  atOnce: number | (() => number)
  /** How many wait for a slot. */
  waiting: number
  /** The part of the slots, and of the queue, that one party may take, so that it cannot exclude others; default 1. At least one slot. */
  share?: number
  /** How long work waits before it is `late`, in milliseconds; by default without a limit. */
  patience?: number
}

/**
 * Limits concurrency: at most `atOnce` run, and at most `waiting` wait. Each piece of work belongs to a party, for example a tenant.
 * Parties with waiting work take turns; the work of one party starts in order of arrival.
 */
export function limitConcurrency({ atOnce, waiting: max, share = 1, patience }: TurnBounds) {
  const maxAtOnce = typeof atOnce === 'function' ? atOnce : () => atOnce
  const maxWaiting = Math.max(1, Math.floor(max * share))
  let running = 0
  let waiting = 0
  const runningOf = new Map<string, number>()
  /** In the order in which the parties get their next slot. */
  const queues = new Map<string, Set<() => void>>()

  const start = (party: string): void => {
    running++
    runningOf.set(party, (runningOf.get(party) ?? 0) + 1)
  }
  const mayStart = (party: string): boolean => {
    const max = maxAtOnce()
    return running < max && (runningOf.get(party) ?? 0) < Math.max(1, Math.floor(max * share))
  }

  /** Removes a waiter. Returns whether it was still waiting. */
  function leave(party: string, waiter: () => void): boolean {
    const queue = queues.get(party)
    if (!queue?.delete(waiter)) return false
    waiting--
    if (queue.size === 0) queues.delete(party)
    return true
  }

  /** Starts the next waiter that may start. Returns whether there was one. */
  function startNext(): boolean {
    for (const [party, queue] of queues) {
      if (!mayStart(party)) continue
      const [waiter] = queue
      if (!waiter) continue
      leave(party, waiter)
      // The party's other work waits behind that of all other parties.
      if (queues.delete(party)) queues.set(party, queue)
      start(party)
      waiter()
      return true
    }
    return false
  }
  /** Fills the free slots with waiters, so that new arrivals cannot overtake them. */
  function fill(): void {
    while (startNext());
  }

  function end(party: string): void {
    running--
    const left = (runningOf.get(party) ?? 1) - 1
    if (left > 0) runningOf.set(party, left)
    else runningOf.delete(party)
    fill()
  }

  /** Waits for a slot, which is then taken. Returns why there is none. */
  function slot(party: string): Promise<'full' | 'late' | undefined> | 'full' {
    const queue = queues.get(party) ?? new Set()
    if (waiting >= max || queue.size >= maxWaiting) return 'full'
    queues.set(party, queue)
    waiting++
    return new Promise((done) => {
      let timer: NodeJS.Timeout | undefined
      const waiter = () => {
        clearTimeout(timer)
        done(undefined)
      }
      queue.add(waiter)
      if (patience !== undefined)
        timer = setTimeout(() => {
          if (leave(party, waiter)) done('late')
        }, patience)
    })
  }

  return async function take<T>(work: () => Promise<T>, party = ''): Promise<LimitedResult<T>> {
    // The limit may have grown since the last piece of work ended.
    fill()
    if (mayStart(party)) start(party)
    else {
      const refused = await slot(party)
      if (refused !== undefined) return refused
    }
    try {
      return { value: await work() }
    } finally {
      end(party)
    }
  }
}

/** The result of the work. @throws `late` after this many milliseconds, while the work continues */
export async function withTimeout<T>(milliseconds: number, work: Promise<T>, late: Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, refuse) => {
    timer = setTimeout(() => refuse(late), milliseconds)
  })
  work.catch(() => {}) // avoids an unhandled rejection if the work fails later
  return Promise.race([work, over]).finally(() => clearTimeout(timer))
}
