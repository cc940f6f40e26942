import { scopeSubject, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions } from '#lib/kernel/data-source.ts'
import type { Mention } from '#lib/kernel/erased.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { noChange } from './judgement.ts'
import { mayBeTakenOut, namePattern } from './name-rules.ts'
import { groupsOfWriters, textsMatchingName } from './repository.ts'

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

/**
 * Places where a person's name occurs in texts of other authors in a project. In the graph, names are redacted if the erasure requests it.
 * Messages and documents of other authors are listed and not changed. Empty after the person's erasure.
 */
export async function remainingNames(
  { graph, namesOf }: { graph: GraphStore; namesOf: NamesOf },
  scope: ErasureScope,
  group: string,
  tx: Transaction,
  { key, redacts }: ErasureOptions,
): Promise<Mention[]> {
  const subject = scopeSubject(scope)
  if (!subject) return []
  const names = await namesOfSubject(namesOf, subject, tx)
  const found = new Map<string, Mention>()
  const keep = (mention: Mention) =>
    found.set(JSON.stringify([mention.store, mention.kind, mention.id, mention.field]), mention)
  // Names that remain are processed last: a text that still contains one name must not be reported as redacted.
  for (const isTaken of [true, false]) {
    const some = names.filter((name) => (redacts && mayBeTakenOut(name)) === isTaken)
    if (some.length === 0) continue
    const change = { ...noChange(), names: some, redact: isTaken }
    const { mentions } = await graph.change(
      group,
      [],
      `${key}:${group}:${isTaken ? 'taken' : 'left'}`,
      () => change,
      tx,
    )
    for (const location of mentions) keep({ store: 'graph', ...location, isRedacted: isTaken })
  }
  for (const name of names)
    for (const row of await textsMatchingName(tx, { group, pattern: namePattern(name), ...writersOf(subject) }))
      keep({ store: 'postgresql', ...row, isRedacted: false })
  return [...found.values()]
}
