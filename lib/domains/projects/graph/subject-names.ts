import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords, ErasureOptions, Mention } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { GraphStore, NameLocation } from '#lib/stores/graph/graph.ts'
import { scopeSubject, writersOf } from '../legal-holds.ts'
import { isBorneByParticipant } from '../provenance/participant-names.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { identifiesAPerson, mayBeTakenOut, nameHeldFor } from './name-rules.ts'
import { groupsOfWriters, type ReadableTable, readableAtOnce, readableTables, textsOfOthers } from './repository.ts'
import { type EntityKinds, entityKindOf, noChange } from './rules.ts'

/** The names and email addresses of an account; empty after its erasure. */
export type NamesOf = (tx: Transaction, accountId: string) => Promise<string[]>

/** Groups of the projects in which a person participates or wrote. Projects under legal hold are left out. */
export async function groupsOfPerson(scope: ErasureScope, tx: Transaction, now: Date): Promise<string[]> {
  const subject = scopeSubject(scope)
  if (!subject || (subject.account === null && (subject.participants ?? []).length === 0)) return []
  return (await groupsOfWriters(tx, { ...writersOf(subject), now })).map(({ group }) => group)
}

/** Names and email addresses that applications reported for the participants of a subject. */
async function reportedNames(tx: Transaction, { participants = [] }: Subject): Promise<string[]> {
  if (participants.length === 0) return []
  const rows = await tx.projectParticipant.findMany({
    where: { id: { in: [...participants] } },
    select: { name: true, email: true },
  })
  return rows.flatMap(({ name, email }) => [name ?? [], email ?? []].flat())
}

/** Names of a subject from the account and from applications; empty after their erasure. */
export async function namesOfSubject(namesOf: NamesOf, subject: Subject, tx: Transaction): Promise<string[]> {
  const ofAccount = subject.account === null ? [] : await namesOf(tx, subject.account)
  const names = new Set([...ofAccount, ...(await reportedNames(tx, subject))])
  return [...names].filter((name) => name.trim().length > 1)
}

/** What an erasure needs to know before it removes a name from texts of others. */
export interface HeldNames {
  /** The name and the proven address of an account, if both have been unchanged since before the time. */
  since(tx: Transaction, accountId: string, before: Date): Promise<string[]>
  isBorneByOthers(tx: Transaction, name: string, accountId: string | null): Promise<boolean>
}

/** Names that applications reported for the participants of a subject, and did not change since before the time. */
async function reportedSince(tx: Transaction, { participants = [] }: Subject, before: Date): Promise<string[]> {
  if (participants.length === 0) return []
  const rows = await tx.projectParticipant.findMany({
    where: { id: { in: [...participants] }, nameSince: { lte: before } },
    select: { name: true },
  })
  return rows.flatMap(({ name }) => name ?? [])
}

/** Whether another participant, of any project, has this name or address. */
const isOfAnotherParticipant = async (tx: Transaction, name: string, { account, participants = [] }: Subject) => {
  const others = {
    id: { notIn: [...participants] },
    ...(account !== null && { AND: [{ OR: [{ accountId: null }, { accountId: { not: account } }] }] }),
  }
  const same = { equals: name, mode: 'insensitive' } as const
  if ((await tx.projectParticipant.count({ where: { OR: [{ name: same }, { email: same }], ...others } })) > 0)
    return true
  return !name.includes('@') && (await isBorneByParticipant(tx, name, others))
}

/** The names of entities in a group that represent no person, in lower case. */
async function otherEntities(graph: GraphStore, group: string, kinds: EntityKinds, tx: Transaction) {
  const names = new Set<string>()
  const max = 500
  for (let after = ''; ; ) {
    const page = await graph.list(group, 'entities', after, max, tx)
    for (const { record } of page) {
      const { name, labels, attributes, summary } = record
      if (typeof name !== 'string') continue
      const entity = {
        name,
        labels: Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [],
        summary: typeof summary === 'string' ? summary : '',
        attributes: typeof attributes === 'object' && attributes !== null ? { ...attributes } : {},
      }
      if (!entityKindOf(entity, kinds).isPerson) names.add(name.trim().toLowerCase())
    }
    const last = page.at(-1)
    if (page.length < max || !last) return names
    after = last.uuid
  }
}

/** Names that the subject has borne for a while. */
async function namesHeld(heldNames: HeldNames, subject: Subject, tx: Transaction, now: Date): Promise<string[]> {
  const before = new Date(now.getTime() - nameHeldFor)
  const own = subject.account === null ? [] : await heldNames.since(tx, subject.account, before)
  return [...new Set([...own, ...(await reportedSince(tx, subject, before))])]
}

/**
 * The guard of the erasure of words that others wrote: the names that an erasure removes from a group. Only if an owner of the project
 * allows it, and only names of people that the subject has borne for a while and that mean nobody and nothing else.
 */
async function removableNames(
  { graph, heldNames }: { graph: GraphStore; heldNames: HeldNames },
  subject: Subject,
  group: string,
  tx: Transaction,
  now: Date,
): Promise<ReadonlySet<string>> {
  const project = await tx.project.findFirst({
    where: { groupId: group, allowsRedaction: true },
    select: { entityKinds: true },
  })
  if (!project) return new Set()
  const held = (await namesHeld(heldNames, subject, tx, now)).filter(mayBeTakenOut)
  if (held.length === 0) return new Set()
  const others = await otherEntities(graph, group, project.entityKinds as EntityKinds, tx)
  const removable = new Set<string>()
  for (const name of held)
    if (
      !others.has(name.trim().toLowerCase()) &&
      !(await heldNames.isBorneByOthers(tx, name, subject.account)) &&
      !(await isOfAnotherParticipant(tx, name, subject))
    )
      removable.add(name)
  return removable
}

/**
 * Places where a person's name occurs in texts of other authors in a project. In the graph, names are redacted if the erasure requests it.
 * Messages and documents of other authors are listed and not changed. Empty after the person's erasure.
 */
export const remainingNames = (
  deps: NamesDeps,
  scope: ErasureScope,
  group: string,
  tx: Transaction,
  options: ErasureOptions,
): Promise<Mention[]> =>
  namesInGroup(deps, scope, group, tx, options, async (names, isTaken) => {
    const change = { ...noChange(), names: [...names], redact: isTaken }
    const key = `${options.key}:${group}:${isTaken ? 'taken' : 'left'}`
    return (await deps.graph.change(group, [], key, () => change, tx)).mentions
  })

/**
 * Whether a preview may say where the names of a subject occur in texts of others. A person who changes their name and asks again could
 * search these texts for any words.
 */
export async function mayBePreviewed(
  { heldNames, namesOf }: Pick<NamesDeps, 'heldNames' | 'namesOf'>,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<boolean> {
  const subject = scopeSubject(scope)
  if (!subject) return false
  const held = new Set(await namesHeld(heldNames, subject, tx, now))
  // An address is proved before it is used.
  return (await namesOfSubject(namesOf, subject, tx)).every((name) => name.includes('@') || held.has(name))
}

/** What {@link remainingNames} would do in a group as it is now. It changes nothing. */
export const namesAheadIn = (
  deps: NamesDeps,
  scope: ErasureScope,
  group: string,
  tx: Transaction,
  options: Pick<ErasureOptions, 'redacts' | 'now'>,
): Promise<Mention[]> => namesInGroup(deps, scope, group, tx, options, (names) => deps.graph.namesIn(group, names, tx))

interface NamesDeps {
  graph: GraphStore
  heldNames: HeldNames
  namesOf: NamesOf
}

async function namesInGroup(
  { graph, heldNames, namesOf }: NamesDeps,
  scope: ErasureScope,
  group: string,
  tx: Transaction,
  { redacts, words, now }: Pick<ErasureOptions, 'redacts' | 'words' | 'now'>,
  locate: (names: readonly string[], isTaken: boolean) => Promise<readonly NameLocation[]>,
): Promise<Mention[]> {
  const subject = scopeSubject(scope)
  if (!subject) return []
  const names = await namesOfSubject(namesOf, subject, tx)
  const removable = redacts ? await removableNames({ graph, heldNames }, subject, group, tx, now) : new Set<string>()
  const found = new Map<string, Mention>()
  const keep = (mention: Mention) =>
    found.set(JSON.stringify([mention.store, mention.kind, mention.id, mention.field]), mention)
  // Names that remain are processed last: a text that still contains one name must not be reported as redacted.
  for (const isTaken of [true, false]) {
    const some = names.filter((name) => removable.has(name) === isTaken)
    if (some.length === 0) continue
    for (const location of await locate(some, isTaken)) keep({ store: 'graph', ...location, isRedacted: isTaken })
  }
  for (const mention of await mentionsInTexts(tx, group, subject, names, words)) keep(mention)
  return [...found.values()]
}

/** Maximum number of mentions that are listed for each field. */
const maxListed = 200
const fieldsOf: Record<ReadableTable, readonly [kind: string, first: string, second: string]> = {
  messages: ['message', 'content', 'edits'],
  documents: ['document', 'name', 'text'],
  conversations: ['conversation', 'title', ''],
}
const startsWithCapital = (text: string, { start }: ErasedRunMatch): boolean => /^\P{Ll}/u.test(text.slice(start))

/**
 * Texts of other authors in the project of a group that contain a name, an address or a number of the person in any form and encoding. Words
 * that may be somebody else's name, such as a single first name, count only with a capital; their field ends with `.uncertain`.
 */
async function mentionsInTexts(
  tx: Transaction,
  group: string,
  subject: Subject,
  names: readonly string[],
  words: ErasedWords | undefined,
): Promise<Mention[]> {
  const sought = new Fingerprints()
  for (const name of names)
    if (identifiesAPerson(name)) sought.addName(name)
    else sought.addUncertainName(name)
  const placeOf = (text: string): '' | '.uncertain' | undefined => {
    if (sought.namesIn(text).length > 0 || (words?.namesIn(text).length ?? 0) > 0) return ''
    return sought.uncertainIn(text).some((match) => startsWithCapital(text, match)) ? '.uncertain' : undefined
  }
  const found = new Map<string, Mention[]>()
  for (const table of readableTables) {
    const [kind, ...fields] = fieldsOf[table]
    for (let after = ''; ; ) {
      const rows = await textsOfOthers(tx, { group, after, ...writersOf(subject) }, table)
      for (const { id, first, second } of rows)
        for (const [n, texts] of [first, second].entries())
          for (const suffix of new Set(texts.map(placeOf))) {
            if (suffix === undefined) continue
            const field = `${fields[n] ?? ''}${suffix}`
            const listed = found.get(`${kind} ${field}`) ?? []
            found.set(`${kind} ${field}`, listed)
            if (listed.length < maxListed) listed.push({ store: 'postgresql', kind, id, field, isRedacted: false })
          }
      const last = rows.at(-1)
      if (last === undefined || rows.length < readableAtOnce) break
      after = last.id
    }
  }
  return [...found.values()].flat()
}
