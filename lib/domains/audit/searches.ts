import type { Actor } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockSearches } from './repository.ts'
import { canonicalQuery, filterNames, mostSearches } from './rules.ts'
import { deleteSearch, listSearches, type SavedSearch, saveSearch } from './searches-contract.ts'

interface SearchRow {
  id: string
  name: string
  query: string
  createdAt: Date
}
const presented = ({ id, name, query, createdAt }: SearchRow): SavedSearch => ({
  id,
  name,
  query,
  created_at: createdAt.toISOString(),
})

function accountOf({ accountId }: Actor): string {
  if (accountId === undefined)
    throw new Problem('forbidden', 'Saved searches belong to an account, and a token has none. Sign in to use them.')
  return accountId
}

/** Named filters of the log. Visible only to their account, not even to admins. */
export function searchesService(db: Database) {
  return {
    searches: read(listSearches, async ({ actor }) => {
      const rows = await db.prisma.savedSearch.findMany({
        where: { accountId: accountOf(actor) },
        orderBy: [{ name: 'asc' }, { id: 'asc' }],
        take: mostSearches,
      })
      return {
        body: { data: rows.map(presented), total: rows.length, offset: 0, limit: mostSearches, next_cursor: null },
        resourceId: 'list',
        details: { count: rows.length },
      }
    }),

    saveSearch: mutation(saveSearch, async ({ tx, actor, now }, { body: { name, query: text } }) => {
      const accountId = accountOf(actor)
      const query = canonicalQuery(text)
      if (query === undefined)
        throw invalid(
          ['query'],
          `accepts the filters ${filterNames.join(', ')}, each at most once, and needs at least one`,
        )
      await lockSearches(tx, { account: accountId })
      const known = await tx.savedSearch.findMany({ where: { accountId }, select: { name: true } })
      if (known.some((one) => one.name === name))
        throw new Problem(
          'conflict',
          'You already have a search with this name. Choose another name, or delete that search.',
        )
      if (known.length >= mostSearches)
        throw new Problem('conflict', `You have ${mostSearches} searches. Delete one that you no longer need.`)
      const row = await tx.savedSearch.create({
        data: { id: newId('srch'), accountId, name, query, createdAt: now },
      })
      return { body: { data: presented(row) }, resourceId: row.id, headers: { Location: '/api/audit/searches' } }
    }),

    deleteSearch: mutation(deleteSearch, async ({ tx, actor }, { params: { id } }) => {
      const { count } = await tx.savedSearch.deleteMany({ where: { id, accountId: accountOf(actor) } })
      if (count === 0) throw new Problem('not_found', 'You have no saved search with this id.')
      return { body: undefined, resourceId: id }
    }),
  }
}
