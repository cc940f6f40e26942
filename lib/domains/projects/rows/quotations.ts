import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import { cutFrom } from '#lib/domains/projects/words/derived-text.ts'
import { Fingerprints, mergeSpans } from '#lib/domains/projects/words/fingerprints.ts'
import { remainingTexts } from '#lib/domains/projects/words/remaining-texts.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedRunMatch, ErasedWords, PlannedRecord } from '#lib/kernel/data-source.ts'
import { type Erased, tallyOf } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { placeholder } from '#lib/stores/checkpoints/needles.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { machineMessages, mostMachineMessages } from './repository.ts'
import { untilErased } from './retained-until.ts'

/** Where to search: an older message of an assistant cannot quote the erased ones. */
interface Searched {
  project: string
  since: Date
}
const within = 'within:'
const itemOf = ({ project, since }: Searched): string => `${within}${project}:${since.toISOString()}`
function searchedAmong(items: readonly string[]): Searched[] {
  return items.flatMap((item) => {
    if (!item.startsWith(within)) return []
    const at = item.indexOf(':', within.length)
    return [{ project: item.slice(within.length, at), since: new Date(item.slice(at + 1)) }]
  })
}

interface Quotation {
  id: string
  /** Undefined: it has no erased words. */
  content: string | undefined
  edits: { id: string; content: string }[]
}

/** Messages of assistants with words of the erased texts that no remaining text of a person explains. Only reads. */
async function* quotationsIn(
  tx: Transaction,
  { project, since }: Searched,
  words: ErasedWords,
  now: Date,
  going: ReadonlySet<string> = new Set(),
): AsyncGenerator<Quotation> {
  if (words.isEmpty) return
  const matches = (text: string): ErasedRunMatch[] => [...words.runsIn(text), ...words.namesIn(text)]
  const explained = memoize(async () => {
    const runs = new Set<number>()
    for await (const { isByPerson, texts } of remainingTexts(tx, project, now, going))
      if (isByPerson) for (const text of texts) for (const { run } of matches(text)) runs.add(run)
    return runs
  })
  const cut = async (text: string): Promise<string | undefined> => {
    const found = matches(text)
    if (found.length === 0) return undefined
    const known = await explained()
    const erased = found.filter(({ run }) => !known.has(run))
    return erased.length === 0 ? undefined : (cutFrom(text, mergeSpans(erased)) ?? placeholder)
  }
  for (let after = ''; ; ) {
    const rows = await machineMessages(tx, { project, after, since, now })
    for (const { id, content, edits, contents } of rows) {
      if (going.has(id)) continue
      const found: Quotation = { id, content: await cut(content), edits: [] }
      for (const [n, edit] of edits.entries()) {
        const rest = await cut(contents[n] ?? '')
        if (rest !== undefined) found.edits.push({ id: edit, content: rest })
      }
      if (found.content !== undefined || found.edits.length > 0) yield found
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < mostMachineMessages) return
    after = last.id
  }
}

interface QuotationPorts {
  sources: Sources
  /** Withdraws stored idempotent responses that contain the ids. */
  withdrawNaming(tx: Transaction, ids: readonly string[]): Promise<unknown>
}

/**
 * Personal data source for quotations in messages of assistants and tools, and in system prompts. Only people are authors: such a message
 * is derived data, so the erased words are cut from it and the rest remains.
 */
export function quotationDataSource(db: Database, { sources, withdrawNaming }: QuotationPorts): DataSource {
  /** The projects of a scope, the words of its texts, and the ids that count as erased. */
  async function gathered(scope: ErasureScope, tx: Transaction, now: Date) {
    const since = new Map<string, Date>()
    const words = new Fingerprints()
    const going = new Set<string>()
    for await (const page of sources.of(scope, tx, now))
      for (const { id, project, createdAt, texts } of page) {
        going.add(id)
        const known = since.get(project)
        if (!known || createdAt < known) since.set(project, createdAt)
        for (const text of texts) words.add(text)
      }
    const searched = [...since].map(([project, at]): Searched => ({ project, since: at }))
    return { searched, words, going }
  }
  async function planned(scope: ErasureScope, tx: Transaction, now: Date) {
    const { searched, words, going } = await gathered(scope, tx, now)
    const ids: string[] = []
    for (const one of searched) for await (const { id } of quotationsIn(tx, one, words, now, going)) ids.push(id)
    return { ids: ids.sort(), searched }
  }
  return {
    name: 'projects.quotations',
    store: 'postgresql',
    stage: 'content',
    what: 'words of the erased messages and documents in messages of assistants and tools, which quote them',
    purpose: 'providing conversations in the projects of which the subject is a member',
    kept: untilErased,
    tables: ['messages', 'message_edits'],
    inventory: async () => ({ count: 0, since: null, until: null }),
    async plan(scope, tx, now) {
      const { ids, searched } = await planned(scope, tx, now)
      return { items: ids, watched: searched.map(itemOf).sort(), held: {} }
    },
    async explain(scope, tx, now) {
      const { ids } = await planned(scope, tx, now)
      const verdicts = ids.map(
        (id): PlannedRecord => ({
          ...{ store: 'postgresql', kind: 'message', id, name: null, verdict: 'changed', reason: 'cut' },
          ...{ evidence: [], found: 'text' },
        }),
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx, options): Promise<Erased> {
      const now = options?.now ?? new Date()
      const scoped = await gathered(scope, tx, now)
      const words = options?.words && !options.words.isEmpty ? options.words : scoped.words
      const recorded = searchedAmong(items)
      const changed: string[] = []
      for (const one of recorded.length > 0 ? recorded : scoped.searched)
        for await (const { id, content, edits } of quotationsIn(tx, one, words, now, scoped.going)) {
          if (content !== undefined) await tx.message.update({ where: { id }, data: { content } })
          for (const edit of edits)
            await tx.messageEdit.update({ where: { id: edit.id }, data: { content: edit.content } })
          changed.push(id)
        }
      await withdrawNaming(tx, changed)
      const asked = items.filter((item) => !item.startsWith(within)).length
      return {
        count: Math.max(changed.length, asked),
        results: {},
        tallies: { derivedCut: tallyOf(changed) },
        mentions: [],
      }
    },
    async residue(_scope, items, now, words) {
      if (!words || words.isEmpty) return 0
      let count = 0
      for (const one of searchedAmong(items))
        count += await db.transaction(async (tx) => (await Array.fromAsync(quotationsIn(tx, one, words, now))).length)
      return count
    },
  }
}
