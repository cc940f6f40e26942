import type { Source } from '#lib/domains/projects/provenance/sources.ts'

/** Of a longer message, only its beginning and its end belong to runs with other messages. */
const longest = 600

/**
 * Collects the messages of each author in a conversation, in their order, so that runs across several short messages can be found. They are
 * joined whether or not other people wrote between them: a transcript has the other words between, and then no such run exists in it; a
 * list of one person's messages has not. Only erased messages are joined: the words of a message that remains are not erased with them.
 */
export class ConsecutiveMessages {
  readonly #byAuthor = new Map<string, { at: number; id: string; text: string }[]>()

  add({ kind, id, conversation, author, createdAt, texts: [text] }: Source): void {
    if (kind !== 'message' || conversation === null || text === undefined) return
    const key = JSON.stringify([conversation, author.kind, author.id])
    const own = this.#byAuthor.get(key) ?? []
    this.#byAuthor.set(key, own)
    own.push({ at: createdAt.getTime(), id, text })
  }

  /** The joined texts of each author, in pieces at messages that are too long to be joined as a whole. */
  *texts(): Generator<string> {
    for (const own of this.#byAuthor.values()) {
      if (own.length < 2) continue
      own.sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1))
      let joined: string[] = []
      for (const { text } of own) {
        if (text.length <= longest) {
          joined.push(text)
          continue
        }
        yield [...joined, text.slice(0, longest / 2)].join('\n')
        joined = [text.slice(-longest / 2).replace(/^\S+/u, '')]
      }
      if (joined.length > 1) yield joined.join('\n')
    }
  }
}
