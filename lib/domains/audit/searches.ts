import type { Actor } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
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
    throw new Problem('forbidden', 'Searches are kept for people: a token has no account that they could belong to.')
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
      if (query === undefined) throw invalid(['query'], `takes some of ${filterNames.join(', ')}, each once`)
      // The lock serializes concurrent requests of an account.
      await tx.$queryRaw`SELECT 1 AS locked FROM (SELECT pg_advisory_xact_lock(hashtext(${`saved-searches:${accountId}`}))) AS l`
      const known = await tx.savedSearch.findMany({ where: { accountId }, select: { name: true } })
      if (known.some((one) => one.name === name))
        throw new Problem('conflict', 'You have a search of this name already. Choose another, or delete that one.')
      if (known.length >= mostSearches)
        throw new Problem('conflict', `You have ${mostSearches} searches. Delete one that you do not need any more.`)
      const row = await tx.savedSearch.create({
        data: { id: newId('srch'), accountId, name, query, createdAt: now },
      })
      return { body: { data: presented(row) }, resourceId: row.id, headers: { Location: '/api/audit/searches' } }
    }),

    deleteSearch: mutation(deleteSearch, async ({ tx, actor }, { params: { id } }) => {
      const { count } = await tx.savedSearch.deleteMany({ where: { id, accountId: accountOf(actor) } })
      if (count === 0) throw new Problem('not_found', 'There is no such search, or it is not yours.')
      return { body: undefined, resourceId: id }
    }),
  }
}
