import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { page } from '#lib/kernel/pages.ts'
import { filterNames, mostSearches } from './rules.ts'

const SearchId = z.string().regex(/^srch_[0-9A-Za-z]{22}$/, 'is not the id of a saved search')

export const SavedSearch = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    query: z.string().meta({ description: 'The filters as in the URL of the page, without `?`' }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'SavedAuditSearch' })
export type SavedSearch = z.output<typeof SavedSearch>

const search = { resourceType: 'saved-search' }

export const listSearches = operation({
  id: 'listAuditSearches',
  method: 'get',
  path: '/api/audit/searches',
  summary: 'List my saved searches of the audit log, by name',
  description: `Returns all of them. An account can save at most ${mostSearches}.`,
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
  summary: 'Save filters of the audit log under a name',
  description: `Only you can see it. Names must be unique. An account can save at most ${mostSearches}.`,
  permission: 'audit:audit',
  audit: { action: 'create', ...search },
  limit: 'write',
  status: 201,
  body: z.strictObject({
    name: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(80, 'must have at most 80 characters')
      .regex(/^\P{Cc}*$/u, 'must not contain control characters')
      .refine((text) => text.isWellFormed(), 'must not contain unpaired surrogates'),
    query: z
      .string()
      .max(2_000, 'must have at most 2,000 characters')
      .refine(
        (text) => text.isWellFormed() && !/%00|\0/.test(text),
        'must not contain NUL characters or unpaired surrogates',
      )
      .meta({ description: `Some of ${filterNames.join(', ')}, each once, in the format of a URL query` }),
  }),
  output: z.strictObject({ data: SavedSearch }),
  refusals: ['forbidden', 'conflict'],
})

export const deleteSearch = operation({
  id: 'deleteAuditSearch',
  method: 'delete',
  path: '/api/audit/searches/{id}',
  summary: 'Delete a saved search of mine',
  permission: 'audit:audit',
  audit: { action: 'delete', ...search },
  deletes: { counts: 'savedSearchesDeleted' },
  limit: 'write',
  status: 204,
  params: z.strictObject({ id: SearchId }),
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})
