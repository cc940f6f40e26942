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
