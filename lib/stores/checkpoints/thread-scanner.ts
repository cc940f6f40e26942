import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { leavesTogether, runsAcross } from '../virtual-texts.ts'
import type { FoundMessage, ThreadSearchTerms } from './checkpoints.ts'
import { isPlainObject, type MessageFacts, messageIn, wordsOfPair } from './messages.ts'
import { PackedBytes, PackedExtension, PackedNumber } from './msgpack-values.ts'
import { distinctiveTexts, formsOf, holdsAny, isDistinctiveText, isNaming } from './search-strings.ts'

/** The parts of a thread to erase, determined by reading the entire thread before anything is rewritten. */
export interface ErasedThreads {
  ids: ReadonlySet<string>
  /** Ids of tool calls. */
  calls: ReadonlySet<string>
  /** Without surrounding white space. */
  texts: ReadonlySet<string>
  /** All forms in which a string may contain the texts, longest first. */
  forms: readonly string[]
  /** Ids of messages of remaining authors, which do not change. */
  remaining: ReadonlySet<string>
  /** Whether a text contains erased words, including those that other authors also wrote. */
  isQuoting(text: string): boolean
  /** Runs of erased words in a text that no remaining author explains. */
  runsIn(text: string): readonly ErasedRunMatch[]
}
export const isRemaining = (
  { id }: MessageFacts,
  { remaining, ids }: Pick<ErasedThreads, 'remaining' | 'ids'>,
): boolean => id !== undefined && remaining.has(id) && !ids.has(id)
const isSaid = (text: string, erasedThreads: Pick<ErasedThreads, 'texts'>): boolean =>
  erasedThreads.texts.size > 0 && erasedThreads.texts.has(text.trim())
export const isErasedWith = (
  { id, text, calls, answers }: Omit<MessageFacts, 'isHuman'>,
  erasedThreads: ErasedThreads,
): boolean =>
  (id !== undefined && erasedThreads.ids.has(id)) ||
  isSaid(text, erasedThreads) ||
  [...calls, ...answers].some((call) => erasedThreads.calls.has(call))
export const isErasedPair = (value: readonly unknown[], erasedThreads: ErasedThreads): boolean => {
  const words = wordsOfPair(value)
  return words !== undefined && isSaid(words, erasedThreads)
}
/** Whether a string that is not a message's own id or words contains erased data. */
export const isHolding = (
  text: string,
  { ids, forms, runsIn }: Pick<ErasedThreads, 'ids' | 'forms' | 'runsIn'>,
): boolean =>
  forms.some((form) => text.includes(form)) ||
  ids.values().some((id) => isDistinctiveText(id) && isNaming(text, id)) ||
  runsIn(text).length > 0

/** Visits every message in a decoded value, and every string, including keys. `owner` is the innermost message that contains the string. */
function visit(
  value: unknown,
  see: { message(facts: MessageFacts): void; string(text: string, owner: MessageFacts | undefined): void },
  owner?: MessageFacts,
): void {
  if (typeof value === 'string') see.string(value, owner)
  else if (Array.isArray(value)) {
    const words = wordsOfPair(value)
    const facts = words === undefined ? owner : { id: undefined, text: words, isHuman: true, calls: [], answers: [] }
    if (facts && facts !== owner) see.message(facts)
    for (const item of value) visit(item, see, facts)
  } else if (value instanceof PackedBytes) for (const text of value.texts) see.string(text, owner)
  else if (value instanceof PackedExtension) see.string(value.text, owner)
  else if (isPlainObject(value) && !(value instanceof PackedNumber)) {
    const facts = messageIn(value) ?? owner
    if (facts && facts !== owner) see.message(facts)
    for (const [key, item] of Object.entries(value)) {
      see.string(key, owner)
      visit(item, see, facts)
    }
  }
}

/** The parts of a record or list, with the innermost message that contains their strings. */
export function partsOf(value: unknown, owner: MessageFacts | undefined) {
  if (Array.isArray(value)) {
    const words = wordsOfPair(value)
    const facts = words === undefined ? owner : { id: undefined, text: words, isHuman: true, calls: [], answers: [] }
    return { children: value.map((item, at): [number, unknown] => [at, item]), owner: facts }
  }
  if (!isPlainObject(value) || value instanceof PackedNumber) return undefined
  if (value instanceof PackedBytes || value instanceof PackedExtension) return undefined
  return { children: Object.entries(value), owner: messageIn(value) ?? owner }
}

/** Reads a thread value by value and determines what is erased. */
export function threadScanner(wanted: ThreadSearchTerms) {
  const texts = new Set(distinctiveTexts(wanted))
  const byForm = [...texts].flatMap((text) => formsOf(text).map((form) => ({ form, text })))
  byForm.sort((a, b) => b.form.length - a.form.length)
  const asked = { ids: new Set(wanted.ids), texts, forms: byForm.map(({ form }) => form) }
  const distinctiveIds = wanted.ids.filter(isDistinctiveText)
  const known = new Map<string, Omit<MessageFacts, 'text'> & { text: string | null }>()
  const standing = new Set<string>()
  const own = new Set(wanted.texts.map((text) => text.trim()))
  const removedTexts = new Set<string>()
  /** Runs of erased words by the id of the message that contains them; the empty id: not in a message with an id. */
  const runs = new Map<string, Set<number>>()
  /** Runs that several messages contain together, each with the ids of these messages. */
  const together: { run: number; ids: ReadonlySet<string> }[] = []
  /** A message with another id may be another author's with the same words. */
  const isAsked = ({ id, text }: MessageFacts): boolean => (id === undefined ? isSaid(text, asked) : asked.ids.has(id))
  const isErasedVersion = ({ id, isHuman }: MessageFacts): boolean =>
    id !== undefined && asked.ids.has(id) && (isHuman || wanted.reported?.has(id) !== true)
  return {
    asked,
    removedTexts,
    runs,
    together,
    /** Returns whether the value contains a requested id or text, or its words. A name alone does not count. */
    read(value: unknown): boolean {
      let isHit = false
      const hasWords = (found: readonly number[]): boolean => found.some((run) => wanted.words?.isName?.(run) !== true)
      const recordHit = (what: string) => {
        isHit = true
        standing.add(what)
      }
      visit(value, {
        message(facts) {
          const { id, text, isHuman, calls, answers } = facts
          const said = isSaid(text, asked) ? text.trim() : null
          if (said !== null) recordHit(said)
          if (isErasedVersion(facts) && text.trim() !== '' && !own.has(text.trim())) removedTexts.add(text.trim())
          if (id !== undefined && asked.ids.has(id)) recordHit(id)
          else if (said === null && calls.length + answers.length === 0) return
          known.set(JSON.stringify([id, said, calls, answers]), { id, text: said, isHuman, calls, answers })
        },
        string(text, owner) {
          for (const one of byForm) if (text.includes(one.form)) recordHit(one.text)
          for (const id of distinctiveIds) if (isNaming(text, id)) recordHit(id)
          if (!wanted.words || (owner && isAsked(owner))) return
          const found = wanted.words.runsIn(text)
          if (found.length === 0) return
          isHit ||= hasWords(found.map(({ run }) => run))
          const id = owner?.id ?? ''
          runs.set(id, (runs.get(id) ?? new Set()).union(new Set(found.map(({ run }) => run))))
        },
      })
      const { words } = wanted
      if (!words) return isHit
      for (const { leaves, glues } of leavesTogether<MessageFacts | undefined>(value, undefined, partsOf)) {
        const pieces = leaves.filter(({ owner }) => !(owner && isAsked(owner)))
        for (const glue of glues) {
          const across = runsAcross(
            pieces.map(({ text }) => text),
            words.runsIn,
            glue,
          )
          if (across.runs.size === 0) continue
          isHit ||= hasWords([...across.runs.keys()])
          for (const [run, touched] of across.runs) {
            const ids = new Set([...touched].map((at) => pieces[at]?.owner?.id ?? ''))
            const [id = ''] = ids.size === 1 ? ids : []
            runs.set(id, (runs.get(id) ?? new Set()).add(run))
            if (ids.size > 1) together.push({ run, ids })
          }
        }
      }
      return isHit
    },
    /** For bytes that cannot be decoded to a tree. */
    readBytes(bytes: Uint8Array): void {
      for (const text of texts) if (holdsAny(bytes, { ids: new Set(), forms: formsOf(text) })) standing.add(text)
      for (const id of asked.ids) if (holdsAny(bytes, { ids: new Set([id]), forms: [] })) standing.add(id)
    },
    standing,
    /**
     * Erases tool calls with their results and results with their calls, until nothing more follows. `remaining`: ids of messages of
     * remaining authors; `explained`: runs of words that they also wrote.
     */
    settle(
      remaining: ReadonlySet<string> = new Set(),
      explained: ReadonlySet<number> = new Set(),
    ): { erasedThreads: ErasedThreads; messages: FoundMessage[] } {
      const { words } = wanted
      const unexplained = (found: readonly ErasedRunMatch[]) => found.filter(({ run }) => !explained.has(run))
      const isTheirs = (text: string): boolean => {
        const found = words?.runsIn(text) ?? []
        return found.length > 0 && unexplained(found).length === 0
      }
      const erasedThreads: ErasedThreads & { ids: Set<string>; calls: Set<string> } = {
        ...asked,
        forms: byForm.filter(({ text }) => !isTheirs(text)).map(({ form }) => form),
        ids: new Set(asked.ids),
        calls: new Set<string>(),
        remaining,
        isQuoting: (text) => asked.forms.some((form) => text.includes(form)) || (words?.runsIn(text).length ?? 0) > 0,
        runsIn: words ? (text) => unexplained(words.runsIn(text)) : () => [],
      }
      const found = new Map<string, FoundMessage>()
      for (let before = -1; before < found.size + erasedThreads.calls.size + erasedThreads.ids.size; ) {
        before = found.size + erasedThreads.calls.size + erasedThreads.ids.size
        for (const [key, { id, text, isHuman, calls, answers }] of known) {
          const facts = { id, text: '', isHuman, calls, answers }
          if (isRemaining(facts, erasedThreads)) continue
          if (text === null && !isErasedWith(facts, erasedThreads)) continue
          const how = id !== undefined && asked.ids.has(id) ? 'id' : text === null ? 'tools' : 'text'
          const name = id ?? key
          if (!found.has(name)) found.set(name, { id: id ?? null, found: how, text })
          if (id !== undefined) erasedThreads.ids.add(id)
          for (const call of [...calls, ...answers]) erasedThreads.calls.add(call)
        }
      }
      return { erasedThreads, messages: [...found.values()] }
    },
  }
}
