import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { bases } from './contract.ts'

const when = z.iso.datetime()
export const copyProblems = ['failed', 'late'] as const
export type CopyProblem = (typeof copyProblems)[number]

export const listCopyProblems = operation({
  id: 'listCopyProblems',
  method: 'get',
  path: '/api/admin/exports',
  summary: 'List prepared exports that failed or outlived their term, newest first',
  description: 'Failed exports are listed for 24 hours. At most 100; `total` counts all.',
  permission: 'exports:audit',
  audit: { action: 'read', resourceType: 'export' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ scope: z.enum(bases), problem: z.enum(copyProblems) }),
  output: z.strictObject({
    data: z.array(
      z
        .strictObject({
          id: z.string(),
          account_id: z.string(),
          account_name: z.string().nullable(),
          request_id: z.string().nullable().meta({ description: 'The privacy request that this export answers' }),
          fault: z.string().nullable().meta({ description: 'The code of the error; null if none is recorded' }),
          created_at: when,
          expires_at: when.nullable(),
        })
        .meta({ id: 'CopyWithProblem' }),
    ),
    total: z.number().int(),
  }),
})
