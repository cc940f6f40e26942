import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { scopePart, scopeSubject } from '../legal-holds.ts'
import type { RowPorts } from '../rows/authored.ts'
import { untilErased } from '../rows/retained-until.ts'
import {
  conversationInventory,
  countConversations,
  countErasableConversations,
  countErasableConversationsOfProject,
  deleteConversations,
  identitiesOfContainers,
} from './repository.ts'
import { identitiesOf, wholeConversations } from './whole-containers.ts'

const isOfParts = (scope: ErasureScope): boolean => {
  const kind = scopePart(scope)?.kind
  return kind === 'project' || kind === 'conversation'
}

/** Personal data source for conversations: of a project, of a conversation, or with messages only from the subject. */
export const conversationDataSource = (db: Database, { withdrawNaming }: RowPorts): DataSource => ({
  name: 'projects.conversations',
  store: 'postgresql',
  stage: 'content',
  what: 'conversations without messages of others, with their titles',
  purpose: 'providing conversations in the projects of which the subject is a member',
  kept: untilErased,
  tables: ['conversations'],
  inventory: async (subject) => holdingOf(await conversationInventory(db, identitiesOf(subject))),
  async plan(scope, tx, now) {
    if (!scopeSubject(scope) && !isOfParts(scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await wholeConversations(scope, tx, now))
  },
  async explain(scope, tx, now) {
    const rows = isOfParts(scope) ? await wholeConversations(scope, tx, now) : []
    const verdicts = rows.map(
      ({ id, hold }): PlannedRecord => ({
        ...{ store: 'postgresql', kind: 'conversation', id, name: null, found: 'row' },
        ...(hold === null
          ? { verdict: 'deleted', reason: 'source', evidence: [] }
          : { verdict: 'kept', reason: 'held', evidence: [`hold:${hold}`] }),
      }),
    )
    return { verdicts, isPartial: false }
  },
  /** Keeps a conversation with new messages or with messages under legal hold. Verification finds it, and it is planned again. */
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const deleted = (await deleteConversations(tx, { items })).map(({ id }) => id)
    await withdrawNaming(tx, deleted)
    return deleted.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject) {
        yield countErasableConversations(on, { ...identitiesOf(subject), now })
        return
      }
      if (part?.kind === 'project') yield countErasableConversationsOfProject(on, { project: part.id, now })
      for (const chunk of chunked(items)) yield countConversations(on, { items: chunk })
    })
  },
  identities: (items, tx) => identitiesOfContainers(tx, { items }, 'conversation'),
})
