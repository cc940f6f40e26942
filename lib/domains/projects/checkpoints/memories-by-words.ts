import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { type ErasedRunMatch, type ErasedWords, longestSearch } from '#lib/kernel/data-source.ts'
import type { CheckpointStore, Memory, MemoryChange, MemoryCursor } from '#lib/stores/checkpoints/checkpoints.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Erasers, erasersOf, ownerByIds, ownerByNames, type PlaceOwner } from '../values/place-owners.ts'
import { generatedIn } from '../values/readable.ts'
import { valueDecider } from '../values/value-decider.ts'
import { withoutFileWords } from '../words/fingerprints.ts'
import { type LivingAuthorsOptions, livingAuthors } from '../words/living-authors.ts'
import type { SoughtByItems } from './items.ts'
import { anyClaimsAll } from './repository.ts'

/** Decides by ids and namespaces, never by words: an equal sentence proves nothing. */
async function ownerOf(tx: Transaction, memory: Memory, own: Erasers): Promise<PlaceOwner> {
  const owner = await ownerByNames(tx, [memory.namespace, memory.key], own)
  return owner === 'ours' ? ((await ownerByIds(tx, generatedIn(memory.value), own)) ?? 'ours') : owner
}

/** Whether an item belongs to another project or organization than these, or to nobody known. */
export const isMemoryOfOthers = async (
  memory: Memory,
  projects: readonly string[],
  tx: Transaction,
): Promise<boolean> => ['sibling', 'foreign'].includes(await ownerOf(tx, memory, await erasersOf(tx, projects)))

/** Whether one of the organizations may claim every item that names no project. */
async function mayClaimAny(tx: Transaction, organisations: readonly string[]): Promise<boolean> {
  return organisations.length === 0 || (await anyClaimsAll(tx, { organisations })).length > 0
}

interface SoughtMemories {
  words: readonly ErasedWords[]
  erasers: Erasers
  /** Ids that count as erased, for a dry run. */
  erasedIds?: ReadonlySet<string>
  /** The labels of the only items to search. */
  only?: ReadonlySet<string>
  now: Date
  onUncompared?: LivingAuthorsOptions['onUncompared']
  within<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
}
/** Items with erased words that are not explained by remaining texts of the erasing projects. */
interface FoundMemories {
  changes: MemoryChange[]
  /** Items that remain: another project of the organization owns them, or its texts contain the same words. */
  left: Memory[]
  /** Items that would be changed, in stores that can only be read. */
  readOnly: Memory[]
}

/** Identifies an item in counts by a hash, because its key may contain personal data. */
export const memoryLabel = ({ schema, namespace, key }: Memory): string =>
  createHash('sha256')
    .update(JSON.stringify([schema, namespace, key]))
    .digest('base64url')
    .slice(0, 22)

/** All texts of an item in one string; it may contain JSON escapes. */
export const memoryText = ({ namespace, key, value, indexed }: Memory): string =>
  [namespace, key, value, indexed].join('\n')

/**
 * Finds items of the long-term store by erased words, page by page. A person's name counts only in items that the organization may claim,
 * because other people may have the same name.
 */
export async function* memoriesWithWords(
  store: Pick<CheckpointStore, 'memoryPage'>,
  { words: all, erasers, erasedIds, only, now, within, onUncompared }: SoughtMemories,
  tx?: Transaction,
): AsyncGenerator<FoundMemories> {
  const words = all.filter(({ isEmpty }) => !isEmpty)
  if (words.length === 0 || erasers.projects.length === 0) return
  const erased: ErasedWords = {
    isEmpty: false,
    runsIn: (text) => words.flatMap((one) => one.runsIn(text)),
    namesIn: (text) => words.flatMap((one) => one.namesIn(text)),
  }
  const matchesIn = (text: string): ErasedRunMatch[] => [...erased.runsIn(text), ...erased.namesIn(text)]
  const deciderOf = (some: ErasedWords) =>
    valueDecider(some, { within, projects: erasers.projects, now, onUncompared, ...(erasedIds && { erasedIds }) })
  const [ofNamed, ofUnnamed] = [deciderOf(erased), deciderOf(withoutFileWords(erased))]
  const living = livingAuthors({
    within,
    projects: erasers.projects,
    now,
    erasedIds: erasedIds ?? new Set(),
    runsIn: matchesIn,
    onUncompared,
  })
  const explainedElsewhere = async (text: string, matches: readonly ErasedRunMatch[]): Promise<boolean> =>
    (await living.explained(text, matches)).size === new Set(matches.map(({ run }) => run)).size
  async function decisionOf(
    memory: Memory,
    matches: readonly ErasedRunMatch[],
  ): Promise<MemoryChange | 'left' | 'readOnly' | undefined> {
    const owner = await within((one) => ownerOf(one, memory, erasers))
    if (owner === 'foreign') return undefined
    const text = memoryText(memory)
    const wordDecider = owner === 'named' ? ofNamed : ofUnnamed
    const isErased = await wordDecider.hasErasedWords({ form: 'text', text: [memory.namespace, memory.key].join('\n') })
    const decided = isErased
      ? { decision: 'deleted' as const }
      : await wordDecider.decide({ form: 'text', text: memory.value })
    const isIndexed =
      decided.decision === 'untouched' && (await wordDecider.hasErasedWords({ form: 'text', text: memory.indexed }))
    if (decided.decision === 'retained' || (decided.decision === 'untouched' && !isIndexed))
      return owner !== 'named' && matches.some(({ isOfFile }) => isOfFile) ? 'left' : undefined
    if (owner === 'sibling' || (owner === 'ours' && (await explainedElsewhere(text, matches)))) return 'left'
    if (memory.isReadOnly) return 'readOnly'
    return { memory, value: decided.decision === 'cut' ? decided.text : null }
  }
  for (let after: MemoryCursor | undefined; ; ) {
    const { memories, next } = await store.memoryPage(after, tx)
    const found: FoundMemories = { changes: [], left: [], readOnly: [] }
    for (const memory of memories) {
      if (only?.has(memoryLabel(memory)) === false) continue
      const matches = matchesIn(memoryText(memory))
      if (matches.length === 0) continue
      const decided = await decisionOf(memory, matches)
      if (decided === 'left' || decided === 'readOnly') found[decided].push(memory)
      else if (decided) found.changes.push(decided)
    }
    if (found.changes.length + found.left.length + found.readOnly.length > 0) yield found
    if (!next) return
    after = next
  }
}

/** Erases items of the long-term store that contain erased words, whatever ids they name. */
export async function eraseMemories(
  store: CheckpointStore,
  sought: SoughtByItems & Pick<SoughtMemories, 'words' | 'onUncompared'>,
  tx: Transaction,
  now: Date,
) {
  const done: Record<'cut' | 'deleted' | 'left' | 'readOnly' | 'outside', string[]> = {
    cut: [],
    deleted: [],
    left: [],
    readOnly: [],
    outside: [],
  }
  const erasers = await erasersOf(tx, sought.projects, sought.ids, sought.organisations)
  for await (const { changes, left, readOnly } of memoriesWithWords(
    store,
    { ...sought, erasers, now, within: (run) => run(tx) },
    tx,
  )) {
    done.left.push(...left.map(memoryLabel))
    done.readOnly.push(...readOnly.map(memoryLabel))
    for (const { memory, value } of await store.changeMemories(changes, tx))
      done[value === null ? 'deleted' : 'cut'].push(memoryLabel(memory))
  }
  if (!(await mayClaimAny(tx, erasers.organisations)) && (await store.memoryPage(undefined, tx)).next)
    done.outside.push('outside')
  return done
}

/** Counts the items that would still be changed. */
export async function residueOfMemories(
  { db, store }: { db: Database; store: CheckpointStore },
  { projects, organisations, ids }: SoughtByItems,
  words: ErasedWords,
  now: Date,
): Promise<number> {
  if (projects.length === 0) return 0
  const within = <T>(run: (tx: Transaction) => Promise<T>) => db.transaction(run, { longest: longestSearch })
  const erasers = await within((tx) => erasersOf(tx, projects, ids, organisations))
  let count = 0
  for await (const { changes } of memoriesWithWords(store, { words: [words], erasers, now, within }))
    count += changes.length
  return count
}
