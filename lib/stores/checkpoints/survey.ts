import type { FoundMessage, Wanted } from './checkpoints.ts'
import { isObject, type MessageFacts, messageIn, wordsOfPair } from './messages.ts'
import { formsOf, holdsAny, isNaming, isTelling, tellingTexts } from './needles.ts'

/** What goes of a thread: settled by reading all of it, before anything is rewritten. */
export interface Doomed {
  ids: ReadonlySet<string>
  /** Ids of tool calls. */
  calls: ReadonlySet<string>
  /** Of the texts, without white space around them. */
  texts: ReadonlySet<string>
  /** Everything that a string may hold of the texts, longest first. */
  forms: readonly string[]
}
const isSaid = (text: string, doomed: Pick<Doomed, 'texts'>): boolean =>
  doomed.texts.size > 0 && doomed.texts.has(text.trim())
export const goes = ({ id, text, calls, answers }: MessageFacts, doomed: Doomed): boolean =>
  (id !== undefined && doomed.ids.has(id)) ||
  isSaid(text, doomed) ||
  [...calls, ...answers].some((call) => doomed.calls.has(call))
export const isPairThatGoes = (value: readonly unknown[], doomed: Doomed): boolean => {
  const words = wordsOfPair(value)
  return words !== undefined && isSaid(words, doomed)
}
/** Whether a string that is no message's own id or words holds something of what goes. */
export const isHolding = (text: string, { ids, forms }: Pick<Doomed, 'ids' | 'forms'>): boolean =>
  forms.some((form) => text.includes(form)) || ids.values().some((id) => isTelling(id) && isNaming(text, id))

/** Every message that a decoded value holds, and every string, keys among them. */
function visit(value: unknown, see: { message(facts: MessageFacts): void; string(text: string): void }): void {
  if (typeof value === 'string') see.string(value)
  else if (Array.isArray(value)) {
    const words = wordsOfPair(value)
    if (words !== undefined) see.message({ id: undefined, text: words, calls: [], answers: [] })
    for (const item of value) visit(item, see)
  } else if (isObject(value)) {
    const facts = messageIn(value)
    if (facts) see.message(facts)
    for (const [key, item] of Object.entries(value)) {
      see.string(key)
      visit(item, see)
    }
  }
}

/** Reads a thread value by value and says what goes. */
export function surveyor(wanted: Wanted) {
  const texts = new Set(tellingTexts(wanted))
  const byForm = [...texts].flatMap((text) => formsOf(text).map((form) => ({ form, text })))
  byForm.sort((a, b) => b.form.length - a.form.length)
  const asked = { ids: new Set(wanted.ids), texts, forms: byForm.map(({ form }) => form) }
  const telling = wanted.ids.filter(isTelling)
  const known = new Map<string, Omit<MessageFacts, 'text'> & { text: string | null }>()
  const standing = new Set<string>()
  return {
    asked,
    /** Whether the value holds an id or text that was asked for. */
    read(value: unknown): boolean {
      let isHit = false
      const stands = (what: string) => {
        isHit = true
        standing.add(what)
      }
      visit(value, {
        message({ id, text, calls, answers }) {
          const said = isSaid(text, asked) ? text.trim() : null
          if (said !== null) stands(said)
          if (id !== undefined && asked.ids.has(id)) stands(id)
          else if (said === null && calls.length + answers.length === 0) return
          known.set(JSON.stringify([id, said, calls, answers]), { id, text: said, calls, answers })
        },
        string(text) {
          for (const one of byForm) if (text.includes(one.form)) stands(one.text)
          for (const id of telling) if (isNaming(text, id)) stands(id)
        },
      })
      return isHit
    },
    /** Of bytes that nobody decodes. */
    readBytes(bytes: Uint8Array): void {
      for (const text of texts) if (holdsAny(bytes, { ids: new Set(), forms: formsOf(text) })) standing.add(text)
      for (const id of asked.ids) if (holdsAny(bytes, { ids: new Set([id]), forms: [] })) standing.add(id)
    },
    standing,
    /** Calls go with their answers and answers with their calls, until nothing more follows. */
    settle(): { doomed: Doomed; messages: FoundMessage[] } {
      const doomed = { ...asked, ids: new Set(asked.ids), calls: new Set<string>() }
      const found = new Map<string, FoundMessage>()
      for (let before = -1; before < found.size + doomed.calls.size + doomed.ids.size; ) {
        before = found.size + doomed.calls.size + doomed.ids.size
        for (const [key, { id, text, calls, answers }] of known) {
          if (text === null && !goes({ id, text: '', calls, answers }, doomed)) continue
          const how = id !== undefined && asked.ids.has(id) ? 'id' : text === null ? 'tools' : 'text'
          const name = id ?? key
          if (!found.has(name)) found.set(name, { id: id ?? null, found: how, text })
          if (id !== undefined) doomed.ids.add(id)
          for (const call of [...calls, ...answers]) doomed.calls.add(call)
        }
      }
      return { doomed, messages: [...found.values()] }
    },
  }
}
