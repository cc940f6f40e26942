import { ownNumbers } from '#lib/domains/pii/numbers/own-numbers.ts'
import { findPersonalData } from '#lib/domains/pii/personal-data.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type ErasedRunMatch,
  type ErasedWords,
  type FoundRuns,
  longestSearch,
  type Mention,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { dialedForms, digitsIn, leastDigits } from '#lib/text/numbers.ts'
import { spokenTexts } from '#lib/text/views.ts'
import { scopeSubject } from '../legal-holds.ts'
import type { PersonNames, Source, Sources } from '../provenance/sources.ts'
import { besides } from './derived-text.ts'
import { Fingerprints, occurrences, type TextSpan } from './fingerprints.ts'
import { explainedRuns, remainingTexts, remainingTextsIn } from './remaining-texts.ts'
import { lockErasedWords, versionOfErasedWords, writeErasedWords } from './repository.ts'

/** Maximum number of runs with fingerprints in memory. */
const maxLoaded = 3
/** Projects that one query lists. */
const projectsAtOnce = 1_000
/** Participants whose names one query returns. */
const namesAtOnce = 10_000

interface RunWordsDeps {
  db: Database
  sources: Sources
  /** Passes the name of every account to `visit`. */
  everyName?(visit: (name: string) => void): Promise<void>
  /** The key of new fingerprints. With one key for all runs, a complete reading hashes every text once. By default, a random one. */
  key?: () => Buffer
}

/** Of a longer message, only its beginning and its end belong to runs with other messages. */
const longest = 600

/**
 * Collects the messages of each author in a conversation, in their order, so that runs across several short messages can be found. They are
 * joined whether or not other people wrote between them: a transcript has the other words between, and then no such run exists in it; a
 * list of one person's messages has not. Only erased messages are joined: the words of a message that remains are not erased with them.
 */
export class ConsecutiveMessages {
  readonly #byAuthor = new Map<string, Said[]>()

  add({ kind, id, conversation, author, createdAt, ordinal, texts }: Source): void {
    const [newest, ...edits] = texts
    if (kind !== 'message' || conversation === null || newest === undefined) return
    const key = JSON.stringify([conversation, author.kind, author.id])
    const own = this.#byAuthor.get(key) ?? []
    this.#byAuthor.set(key, own)
    own.push({ at: createdAt.getTime(), ordinal, id, versions: [...edits, newest] })
  }

  /**
   * The joined texts of each author, also as they were before edits. Of messages with equal times, the order in which they were stored
   * counts. Old rows have none: two or three of them are joined in every order.
   */
  *texts(): Generator<string> {
    for (const own of this.#byAuthor.values()) {
      if (own.length < 2) continue
      own.sort(
        (one, other) => one.at - other.at || (one.ordinal ?? 0) - (other.ordinal ?? 0) || (one.id < other.id ? -1 : 1),
      )
      yield* inEveryOrder(own, -1)
      if (own.every(({ versions }) => versions.length === 1)) continue
      yield* inEveryOrder(own, 0)
      for (const [at, { versions }] of own.entries())
        for (const text of versions.length > 1 ? versions : [])
          for (const version of [0, -1]) {
            const [before, after] = neighbors(own, at, at + 1)
            yield* piecesOf([...textsOf(before, version), text, ...textsOf(after, version)])
          }
    }
  }
}

interface Said {
  at: number
  ordinal: number | null
  id: string
  /** The texts of the message, oldest first. */
  versions: string[]
}
const textsOf = (all: readonly Said[], version: number): string[] =>
  all.flatMap(({ versions }) => versions.at(version) ?? [])
const neighbors = (own: readonly Said[], from: number, to: number): [before: Said[], after: Said[]] => [
  own.slice(Math.max(0, from - around), from),
  own.slice(to, to + around),
]

/** The joined texts of messages that are sorted by time, in one of their versions: 0 is the oldest, -1 the newest. */
function* inEveryOrder(own: readonly Said[], version: number): Generator<string> {
  yield* piecesOf(textsOf(own, version))
  let tied = 0
  for (let from = 0; from < own.length && tied < maxTied; ) {
    let to = from + 1
    while (own[to]?.at === own[from]?.at) to++
    if (to - from > 1 && own.slice(from, to).some(({ ordinal }) => ordinal === null)) {
      tied += 1
      const [before, after] = neighbors(own, from, to)
      for (const order of ordersOf(own.slice(from, to)))
        yield* piecesOf(textsOf([...before, ...order, ...after], version))
    }
    from = to
  }
}

/** Texts joined in pieces at those that are too long to be joined as a whole. */
function* piecesOf(texts: readonly string[]): Generator<string> {
  let joined: string[] = []
  for (const text of texts) {
    if (text.length <= longest) {
      joined.push(text)
      continue
    }
    yield [...joined, text.slice(0, longest / 2)].join('\n')
    joined = [text.slice(-longest / 2).replace(/^\S+/u, '')]
  }
  if (joined.length > 1) yield joined.join('\n')
}

/** Messages before and after those with equal times that a run may also contain. */
const around = 5
/**
 * Up to this number, messages with equal times whose order was not stored are joined in every order. The wrong orders have runs that nobody wrote, and another person
 * may write such a run, so there must be few.
 */
const maxOrdered = 3
/** Maximum number of groups with equal times that are joined in more than one order: each order costs as much as a long message. */
const maxTied = 50

/** Possible orders of messages with equal times. Of many, the order of the numbers in their ids. */
function* ordersOf<T extends { id: string }>(tied: readonly T[]): Generator<T[]> {
  if (tied.length <= maxOrdered) yield* permutations(tied)
  else yield tied.toSorted((one, other) => one.id.localeCompare(other.id, 'en', { numeric: true }))
}
function* permutations<T>(all: readonly T[]): Generator<T[]> {
  if (all.length < 2) yield [...all]
  for (const [at, one] of all.length < 2 ? [] : all.entries())
    for (const rest of permutations(all.toSpliced(at, 1))) yield [one, ...rest]
}

/** Clocks differ, and an application may write derived data before it reports the message. */
const margin = 86_400_000

/** The time since which derived data of some sources is searched as written; older data is searched by ids and indexes. */
export class SourceSpan {
  #first: Date | undefined

  add({ createdAt }: Pick<Source, 'createdAt'>): void {
    if (!this.#first || createdAt < this.#first) this.#first = createdAt
  }

  get since(): Date | undefined {
    return this.#first && new Date(this.#first.getTime() - margin)
  }
}

/** The words of the sources of a scope. The plan, the dry run and the erasure compare the same words. */
export class SourceWords {
  readonly #words: Fingerprints
  readonly #consecutive = new ConsecutiveMessages()

  constructor(words: Fingerprints = new Fingerprints()) {
    this.#words = words
  }

  add(source: Source): void {
    this.#consecutive.add(source)
    for (const text of source.texts) this.#words.add(text)
    for (const { key, parts } of source.files) this.#words.addFile(key, parts)
  }

  /** Call it after the last source: it adds the runs across consecutive messages. */
  all(): Fingerprints {
    for (const text of this.#consecutive.texts()) this.#words.add(text)
    return this.#words
  }
}

/** The telephone numbers in a text, as the digits of every form in which somebody may dial or store them. */
export function phoneNumbersIn(text: string): string[] {
  if (digitsIn(text).length < leastDigits) return []
  const forms = new Set<string>()
  for (const plain of spokenTexts(text))
    for (const { start, end } of findPersonalData(plain, { kinds: ['phone'] }))
      for (const form of dialedForms(plain.slice(start, end))) forms.add(form)
  return [...forms]
}

/**
 * Adds the telephone numbers in a text that a person wrote. Nobody reports a person's number: it is known only from what they wrote. A
 * number that they only mention may be somebody else's, so it is counted and not removed.
 */
export function addNumbersOf(words: Fingerprints, text: string): void {
  if (digitsIn(text).length < leastDigits) return
  for (const plain of spokenTexts(text)) {
    const found = findPersonalData(plain, { kinds: ['phone'] })
    const own = ownNumbers(plain, found)
    for (const one of found)
      for (const form of dialedForms(plain.slice(one.start, one.end)))
        if (own.has(one)) words.addNumber(form)
        else words.addUncertainNumber(form)
  }
}

/** Adds the fingerprints of all texts and names in a scope, and the ids of the projects that contain the texts. */
async function gather(
  sources: Sources,
  { fingerprints, projects }: { fingerprints: Fingerprints; projects: Set<string> },
  tx: Transaction,
  scope: ErasureScope,
  now: Date,
): Promise<Date | undefined> {
  const { account = null, participants = [] } = scopeSubject(scope) ?? {}
  const isPerson = account !== null || participants.length > 0
  const words = new SourceWords(fingerprints)
  let since: Date | undefined
  for await (const batch of sources.of(scope, tx, now))
    for (const source of batch) {
      const { project, texts, createdAt } = source
      if (!since || createdAt < since) since = createdAt
      projects.add(project)
      words.add(source)
      if (isPerson) for (const text of texts) addNumbersOf(fingerprints, text)
    }
  words.all()
  // Also without a text: messages may be deleted before their author is, and applications store profiles of people who never wrote.
  if (isPerson) {
    for (const one of await projectsOfPerson(tx, { account, participants }, projects.size > 0)) projects.add(one)
    addNames(fingerprints, await sources.names(scope, tx, projects))
  }
  return since
}

/** The projects of the person's participations. Of a person without these and without a text, the projects whose members they are. */
async function projectsOfPerson(
  tx: Transaction,
  { account, participants }: { account: string | null; participants: readonly string[] },
  hasText: boolean,
): Promise<string[]> {
  const select = { projectId: true }
  const taking = await tx.projectParticipant.findMany({ where: { id: { in: [...participants] } }, select })
  const joined =
    account === null || hasText || taking.length > 0
      ? []
      : await tx.projectMember.findMany({ where: { kind: 'account', memberId: account }, select })
  return [...taking, ...joined].map(({ projectId }) => projectId)
}

/** People choose their names, and a single word may be any word. */
export function addNames(words: Fingerprints, { certain, uncertain }: PersonNames): void {
  for (const name of certain) words.addName(name)
  for (const name of uncertain) words.addUncertainName(name)
}

/** An email address or a telephone number, as opposed to a name that other people may have. */
const contact = /@|%40|&#(?:64|x40);|(?:\d\D{0,3}){7}/i
export const isContact = (text: string, { start, end }: Pick<ErasedRunMatch, 'start' | 'end'>): boolean =>
  contact.test(text.slice(start, end))

interface FoundNames {
  contacts: ErasedRunMatch[]
  names: ErasedRunMatch[]
  /** Words that may be somebody else's name. */
  uncertain: ErasedRunMatch[]
}
function namesFoundIn(words: Fingerprints, text: string): FoundNames {
  const { certain, uncertain } = words.everyNameIn(text)
  const { contacts = [], names = [] } = Object.groupBy(certain, (one) => (isContact(text, one) ? 'contacts' : 'names'))
  return { contacts, names, uncertain }
}

/** The stored fingerprints of one erasure. */
interface StoredWords {
  receiptId: string
  fingerprints: Uint8Array
}

/**
 * The words of many erasures. All fingerprints with one key are merged, so a text is hashed once for each key: once for all erasures of this
 * version, and once more for each older erasure, whose key is its own.
 */
function wordsOfMany(all: readonly StoredWords[]) {
  const each = new Map(
    all.map(({ receiptId, fingerprints }) => [receiptId, Fingerprints.fromBytes(Buffer.from(fingerprints))]),
  )
  const merged = [...Map.groupBy(each.values(), ({ key }) => key).values()].map((some) => ({
    words: Fingerprints.merged(some),
    of: [...each].filter(([, one]) => some.includes(one)),
  }))
  return {
    foundIn(text: string): ReadonlyMap<string, FoundRuns> {
      const found = new Map<string, FoundRuns>()
      for (const { words, of } of merged) {
        const runs = words.runsIn(text)
        const { contacts, names, uncertain } = namesFoundIn(words, text)
        if (runs.length + contacts.length + names.length + uncertain.length === 0) continue
        for (const [receiptId, one] of of) {
          const own: FoundRuns = { runs: new Set(), names: new Set(), uncertain: new Set() }
          for (const { run } of [...runs, ...contacts]) if (one.has(run)) own.runs.add(run)
          // What is a name in one erasure may be an uncertain form in another, whose person shares it with others.
          for (const { run } of names) {
            const is = one.nameOf(run)
            if (is !== undefined) own[is === 'certain' ? 'names' : 'uncertain'].add(run)
          }
          for (const { run } of uncertain) if (one.nameOf(run) !== undefined) own.uncertain.add(run)
          if (own.runs.size + own.names.size + own.uncertain.size > 0) found.set(receiptId, own)
        }
      }
      return found
    },
    runsOf: (receiptId: string, text: string): ErasedRunMatch[] => each.get(receiptId)?.runsIn(text) ?? [],
    runsIn: (text: string): number[] =>
      merged.flatMap(({ words }) => [...words.runsIn(text), ...words.namesIn(text)].map(({ run }) => run)),
    wordsIn: (text: string): number[] => merged.flatMap(({ words }) => words.runsIn(text).map(({ run }) => run)),
    namesIn: (name: string): number[] => merged.flatMap(({ words }) => words.formsOf(name)),
    unexplained(receiptId: string, explained: ReadonlySet<number>, only?: ReadonlySet<number>): ErasedWords {
      const words = each.get(receiptId) ?? new Fingerprints()
      const counts = (run: number) => !explained.has(run) && only?.has(run) !== false
      return {
        isEmpty: words.isEmpty,
        runsIn: (text) => words.runsIn(text).filter(({ run }) => counts(run)),
        namesIn: (text) => words.namesIn(text).filter((name) => isContact(text, name) && counts(name.run)),
      }
    },
    named(receiptId: string, names: ReadonlySet<number>): ErasedWords {
      const words = each.get(receiptId) ?? new Fingerprints()
      return {
        isEmpty: words.isEmpty || names.size === 0,
        runsIn: () => [],
        namesIn(text) {
          const { certain, uncertain } = words.everyNameIn(text)
          return [...certain, ...uncertain].filter(({ run }) => names.has(run))
        },
      }
    },
  }
}

/** The erased words of runs. Implements `RunFingerprints` of the erasure engine. */
export function runWords(deps: RunWordsDeps) {
  const { db } = deps
  const loaded = new Map<string, { version: number; fingerprints: Fingerprints }>()

  /** `locks`: prevents concurrent additions until the transaction ends. */
  async function load(tx: Transaction, runId: string, { locks = false } = {}): Promise<Fingerprints | undefined> {
    if (locks) await lockErasedWords(tx, { run: runId })
    const [row] = await versionOfErasedWords(tx, { run: runId })
    if (!row) return undefined
    const known = loaded.get(runId)
    if (known?.version === row.version && !locks) return known.fingerprints
    const { version, fingerprints: bytes } = await tx.erasedWords.findUniqueOrThrow({ where: { runId } })
    const fingerprints = Fingerprints.fromBytes(Buffer.from(bytes))
    loaded.delete(runId)
    loaded.set(runId, { version, fingerprints })
    for (const oldest of loaded.keys()) if (loaded.size > maxLoaded) loaded.delete(oldest)
    return fingerprints
  }

  async function extend(
    tx: Transaction,
    runId: string,
    change: (fingerprints: Fingerprints, projects: Set<string>) => Promise<void>,
  ): Promise<void> {
    const known = await load(tx, runId, { locks: true })
    const row = known && (await tx.erasedWords.findUnique({ where: { runId }, select: { projects: true } }))
    const projects = new Set(row?.projects)
    // Change a copy: the fingerprints in memory must match the stored ones even if this transaction is rolled back.
    const fingerprints = known ? Fingerprints.fromBytes(known.toBytes()) : new Fingerprints(deps.key?.().subarray(0, 8))
    const before = fingerprints.toBytes()
    await change(fingerprints, projects)
    const after = fingerprints.toBytes()
    if (fingerprints.isEmpty || (after.equals(before) && projects.size === (row?.projects.length ?? 0))) return
    await writeErasedWords(tx, { run: runId, projects: [...projects].sort(), fingerprints: after })
  }

  return {
    async gather(tx: Transaction, runId: string, scope: ErasureScope, now: Date): Promise<Date | undefined> {
      let since: Date | undefined
      await extend(tx, runId, async (fingerprints, projects) => {
        since = await gather(deps.sources, { fingerprints, projects }, tx, scope, now)
      })
      return since
    },

    add: (tx: Transaction, runId: string, texts: readonly string[]): Promise<void> =>
      extend(tx, runId, async (fingerprints) => {
        for (const text of texts) fingerprints.add(text)
      }),

    async restore(
      tx: Transaction,
      run: string,
      { projects, fingerprints }: { projects: readonly string[]; fingerprints: Uint8Array },
    ): Promise<void> {
      await writeErasedWords(tx, { run, projects: [...projects].sort(), fingerprints: Buffer.from(fingerprints) })
    },

    of: (tx: Transaction, runId: string): Promise<Fingerprints | undefined> => load(tx, runId),

    projectsOf: async (tx: Transaction, runId: string): Promise<string[]> =>
      (await tx.erasedWords.findUnique({ where: { runId }, select: { projects: true } }))?.projects ?? [],

    async storedFingerprints(
      tx: Transaction,
      runId: string,
    ): Promise<{ fingerprints: string; isChanged: boolean } | undefined> {
      const row = await tx.erasedWords.findUnique({ where: { runId } })
      return row
        ? { fingerprints: Buffer.from(row.fingerprints).toString('base64'), isChanged: row.version > 1 }
        : undefined
    },

    read(stored: readonly string[]): ErasedWords {
      const all = stored.map((one) => Fingerprints.fromBytes(Buffer.from(one, 'base64')))
      return {
        isEmpty: all.every(({ isEmpty }) => isEmpty),
        hasFiles: all.some(({ hasFiles }) => hasFiles),
        runsIn: (text) => all.flatMap((one) => one.runsIn(text)),
        namesIn: (text) => all.flatMap((one) => one.namesIn(text)),
      }
    },

    async mentions(tx: Transaction, runId: string, now: Date): Promise<Mention[]> {
      const words = await load(tx, runId)
      if (!words) return []
      const { projects } = await tx.erasedWords.findUniqueOrThrow({ where: { runId }, select: { projects: true } })
      const found: Mention[] = []
      for (const project of projects)
        for (const { kind, id } of (await explainedRuns(tx, project, words, now)).places)
          found.push({ store: 'postgresql', kind, id, field: 'content', isRedacted: false })
      return found
    },

    runs: async (tx: Transaction): Promise<string[]> =>
      (await tx.erasedWords.findMany({ select: { runId: true } })).map(({ runId }) => runId),

    stored: (tx: Transaction, runs: readonly string[]) =>
      tx.erasedWords.findMany({
        where: { runId: { in: [...runs] } },
        select: { runId: true, projects: true, fingerprints: true },
      }),

    together: wordsOfMany,

    async sharedRuns(text: string, matches: readonly ErasedRunMatch[], projects: readonly string[], now: Date) {
      const theirs = await db.transaction(async (tx) => {
        const spans: TextSpan[] = []
        for (const project of projects)
          for (const one of await remainingTextsIn(tx, project, text, now))
            if (one.isByPerson) for (const span of occurrences(text, one.text)) spans.push(span)
        return spans
      })
      const [shared, apart] = [new Set<number>(), new Set<number>()]
      for (const match of matches) (besides(text, [match], theirs).length === 0 ? shared : apart).add(match.run)
      return shared.difference(apart)
    },

    async living(
      now: Date,
      visit: (text: string) => void,
      visitName: (name: string) => void,
      visitOther: (text: string, of: { writtenAt: Date; storedAt: Date; project: string }) => void,
    ): Promise<void> {
      await deps.everyName?.(visitName)
      for (let after = ''; ; ) {
        const page = await db.prisma.projectParticipant.findMany({
          where: { id: { gt: after }, name: { not: null } },
          orderBy: { id: 'asc' },
          take: namesAtOnce,
          select: { id: true, name: true },
        })
        for (const { name } of page) if (name !== null) visitName(name)
        const last = page.at(-1)
        if (!last) break
        after = last.id
      }
      for (let after = ''; ; ) {
        const page = await db.prisma.project.findMany({
          where: { id: { gt: after } },
          orderBy: { id: 'asc' },
          take: projectsAtOnce,
          select: { id: true },
        })
        for (const { id } of page)
          await db.transaction(
            async (tx) => {
              for await (const { kind, isByPerson, createdAt, storedAt, texts } of remainingTexts(tx, id, now)) {
                if (isByPerson) for (const text of texts) visit(text)
                // Of an edited message, its first text has the time of the message.
                else
                  for (const text of kind === 'message' ? texts.slice(0, 2).slice(-1) : texts)
                    visitOther(text, { writtenAt: createdAt, storedAt, project: id })
              }
            },
            { longest: longestSearch },
          )
        const last = page.at(-1)
        if (!last) return
        after = last.id
      }
    },

    async forget(tx: Transaction, runId: string): Promise<void> {
      loaded.delete(runId)
      await tx.erasedWords.deleteMany({ where: { runId } })
    },
  }
}
