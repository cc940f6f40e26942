import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import { authorsOfDerivedDocuments, claimantsOf, recordedInPart } from './repository.ts'

/** People and agents with records in the erasure scope. Their existing exports may contain these records. */
export async function recordedOf(
  tx: Transaction,
  scope: { part: ProjectPart } | { subject: Subject },
): Promise<{ accounts: string[]; agents: string[] }> {
  const rows =
    'part' in scope
      ? await recordedInPart(tx, { id: scope.part.id }, scope.part.kind)
      : await authorsOfDerivedDocuments(tx, writersOf(scope.subject))
  const named = (wanted: string) => rows.flatMap(({ kind, id }) => (kind === wanted ? [id] : []))
  const ofSubject = 'subject' in scope ? (scope.subject.participants ?? []) : []
  const claimed = await claimantsOf(tx, { participants: [...named('participant'), ...ofSubject] })
  return { accounts: [...named('account'), ...claimed.map(({ id }) => id)], agents: named('agent') }
}
