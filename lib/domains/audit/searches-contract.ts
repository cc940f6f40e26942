import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'
import { filterNames, mostSearches } from './rules.ts'

const SearchId = z.string().regex(/^srch_[0-9A-Za-z]{22}$/, 'is not the id of a saved search')

export const SavedSearch = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    query: z.string().meta({ description: 'The filters as the page’s address has them, without `?`' }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'SavedAuditSearch' })
export type SavedSearch = z.output<typeof SavedSearch>

const search = { resourceType: 'saved-search' }

export const listSearches = operation({
  id: 'listAuditSearches',
  method: 'get',
  path: '/api/audit/searches',
  summary: 'My saved searches of the audit log, by name',
  description: `All of them: an account keeps ${mostSearches} at most.`,
  permission: 'audit:audit',
  audit: { action: 'read', ...search },
  limit: 'read',
  status: 200,
  output: page(SavedSearch),
  refusals: ['forbidden'],
})

export const saveSearch = operation({
  id: 'saveAuditSearch',
  method: 'post',
  path: '/api/audit/searches',
  summary: 'Keep filters of the audit log under a name',
  description: `Nobody else sees it. A name is used once; an account keeps ${mostSearches} at most.`,
  permission: 'audit:audit',
  audit: { action: 'create', ...search },
  limit: 'write',
  status: 201,
  body: z.strictObject({
    name: z
      .string()
      .trim()
      .min(1, 'has one character at least')
      .max(80, 'has 80 characters at most')
      .regex(/^\P{Cc}*$/u, 'holds a control character')
      .refine((text) => text.isWellFormed(), 'holds half a surrogate pair'),
    query: z
      .string()
      .max(2_000, 'has 2,000 characters at most')
      .refine((text) => text.isWellFormed() && !/%00|\0/.test(text), 'holds what cannot be kept')
      .meta({ description: `Some of ${filterNames.join(', ')}, each once, as in an address` }),
  }),
  output: z.strictObject({ data: SavedSearch }),
  refusals: ['forbidden', 'conflict'],
})

export const deleteSearch = operation({
  id: 'deleteAuditSearch',
  method: 'delete',
  path: '/api/audit/searches/{id}',
  summary: 'Forget one of my saved searches',
  permission: 'audit:audit',
  audit: { action: 'delete', ...search },
  deletes: { counts: 'savedSearchesDeleted' },
  limit: 'write',
  status: 204,
  params: z.strictObject({ id: SearchId }),
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})
