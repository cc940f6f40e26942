import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import { othersOf } from '#lib/domains/projects/provenance/shared-pointers.ts'
import type { Source, Sources, WholeContainer } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { refsOf } from './thread-search.ts'

/** Whether messages can be within the scope. */
export const isAbout = (scope: ErasureScope): boolean => 'part' in scope || 'subject' in scope
/** A repeated search after the run: the subject is no longer stored, so nothing can be planned. */
export const isNobody = (scope: ErasureScope): boolean =>
  'subject' in scope && writersOf(scope.subject).ids.length === 0

/** The sources of a scope, without pointers to messages of remaining sources: a false pointer must not erase messages of others. */
export async function* erasedSources(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  goes: ReadonlySet<string>,
): AsyncGenerator<Source[]> {
  for await (const batch of sources.of(scope, tx, now)) {
    const others = new Map<string, Set<string>>()
    for (const [project, own] of Map.groupBy(batch, (source) => source.project))
      others.set(project, await othersOf(tx, 'checkpoints', own.flatMap(refsOf), goes, now, project))
    yield batch.map((source) => ({
      ...source,
      pointers: source.pointers.filter(
        ({ store: of, ref }) =>
          of !== 'checkpoints' || ref === shownId(source.id) || !others.get(source.project)?.has(ref),
      ),
    }))
  }
}

export const conversationsOf = (wholes: readonly WholeContainer[]) =>
  wholes.flatMap(({ conversations }) => conversations)
