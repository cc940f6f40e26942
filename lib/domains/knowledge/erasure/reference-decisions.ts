import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { preparedMutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectUnderLegalHold } from './legal-holds.ts'
import { decideReferences, listUndecidedReferences } from './reference-decisions-contract.ts'
import { bearersOf } from './reference-meaning.ts'
import { referencesSource } from './references-data-source.ts'
import { type Renaming, renameSkills, renameUnits } from './renaming.ts'
import { recordsNaming } from './repository.ts'
import type { AuthorPseudonym } from './suppression.ts'

interface Erased {
  account: string | null
  agents: readonly string[]
  at: Date
  until: Date | null
  items: ReadonlySet<string>
}
export interface DecisionDeps extends Pick<KnowledgeDeps, 'withdrawAnswers'> {
  db: Database
  pseudonymOf: AuthorPseudonym
  /** The erasure with this receipt from the ledger, and the records that the data source changed. */
  erasedSubject(receiptId: string, holder: string): Promise<Erased | undefined>
  /** Adds items to the erasure's ledger entry. */
  noteItems(receiptId: string, holder: string, items: readonly string[]): Promise<void>
}

const isSkill = (id: string): boolean => id.startsWith('kp:skill:')
const same: Renaming = (name) => name
/** Without bearers: the decision applies to the names regardless of whom they mean. */
const nobody = { names: [], kinds: [], ids: [] }

/** Admin decisions about references that an erasure could not judge, or judged wrongly. */
export const referenceDecisions = ({ db, pseudonymOf, withdrawAnswers, erasedSubject, noteItems }: DecisionDeps) => {
  const erasedBy = async (receiptId: string): Promise<Erased> => {
    const erased = await erasedSubject(receiptId, referencesSource)
    if (!erased)
      throw new Problem('not_found', 'The erasure ledger has no erasure of a person or an agent with this receipt.')
    return erased
  }
  const pseudonymsOf = ({ account, agents }: Erased): Map<string, string> =>
    new Map([
      ...agents.map((name): [string, string] => [name, pseudonymOf(name)]),
      ...(account === null
        ? []
        : [account, `user:${account}`].map((name): [string, string] => [name, pseudonymOf(account)])),
    ])

  const listed = async (names: readonly string[], before: Date | null, ids: readonly string[] | null) => {
    const rows = await recordsNaming(db, { names, before, ids })
    const data = rows.map(({ total: _, ...row }) => ({ ...row, created_at: row.created_at.toISOString() }))
    return { data, total: rows[0]?.total ?? 0 }
  }
  const isExpired = ({ until }: Erased, now: Date): boolean => until !== null && until < now

  return {
    undecidedReferences: read(listUndecidedReferences, async ({ now }, { params: { id } }) => {
      const erased = await erasedBy(id)
      const { data, total } = await listed(bearersOf(erased).names, erased.at, null)
      const renamed = isExpired(erased, now) ? [] : [...erased.items]
      const restorable = await listed(erased.agents.map(pseudonymOf), null, renamed)
      return {
        resourceId: id,
        details: { count: data.length },
        body: { data, total, restorable: { ...restorable, until: erased.until?.toISOString() ?? null } },
      }
    }),

    decideReferences: preparedMutation(
      decideReferences,
      (_ctx, { params: { id } }) => erasedBy(id),
      async ({ tx, now }, { params: { id }, body: { decision, records } }, erased) => {
        const asked = [...new Set(records)].sort()
        if (decision === 'restore' && isExpired(erased, now))
          throw new Problem(
            'expired',
            'The backup period of this erasure is over, so the ledger no longer has the renamed references. Nothing was restored.',
          )
        const ids = decision === 'rename' ? asked : asked.filter((one) => erased.items.has(one))
        for (const one of ids)
          await rejectUnderLegalHold(tx, { kind: isSkill(one) ? 'skill' : 'unit', id: one, agents: [] }, now)
        // Noted before the change: after a crash in between, the ledger names a record that was not renamed, which is harmless.
        if (decision === 'rename') await noteItems(id, referencesSource, ids)
        const pseudonyms = pseudonymsOf(erased)
        const names = new Map(erased.agents.map((name) => [pseudonymOf(name), name]))
        const to: Renaming =
          decision === 'rename' ? (name) => pseudonyms.get(name) ?? name : (name) => names.get(name) ?? name
        const how = { bearers: nobody, written: () => to, recorded: same }
        const units = await renameUnits(
          tx,
          ids.filter((one) => !isSkill(one)),
          how,
        )
        const changed = units + (await renameSkills(tx, ids.filter(isSkill), how))
        await withdrawAnswers(tx, ...ids)
        return {
          resourceId: id,
          details: { decision, records: asked.length, changed },
          body: { data: { changed, unchanged: asked.length - changed } },
        }
      },
    ),
  }
}
