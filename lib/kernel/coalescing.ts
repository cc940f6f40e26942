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
