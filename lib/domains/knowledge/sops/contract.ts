import { z } from 'zod'
import { ExpertSOP } from '#lib/domains/knowledge/contract.ts'
import { SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { StoredUnit } from '../contract.ts'
import { Corrected, searching, searchResultFields } from '../search/contract.ts'

const SopId = z
  .string()
  .regex(/^kp:sop:[A-Za-z0-9_-]{1,64}$/, 'is not the id of an SOP')
  .meta({ description: 'For example kp:sop:6d961dbbe7e9' })
const Version = z.int().min(1, 'must be at least 1').max(2_147_483_647, 'is not a version number')
const VersionInPath = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, 'must be a version number')
  .transform(Number)
  .pipe(Version)

/** An SOP in its current version; `approved_version` is the newest approved version. */
export const StoredSop = z
  .strictObject({
    ...StoredUnit.shape,
    id: SopId,
    version: Version.meta({ description: 'Number of the current version; the first is 1' }),
    approved_version: Version.nullable().meta({
      description: 'Number of the newest approved version, which may be an earlier one',
    }),
    approved_at: time().nullable(),
  })
  .meta({ id: 'StoredSop' })

const facts = {
  version: Version,
  created_by: z
    .string()
    .nullable()
    .meta({ description: 'The author: an agent, or `user:<id>`; null for readers who cannot see all versions' }),
  created_at: time(),
  approved_by: z
    .string()
    .nullable()
    .meta({ description: 'The approver, in the same format and with the same visibility' }),
  approved_at: time().nullable(),
}
const SopVersionFacts = z.strictObject(facts).meta({ id: 'SopVersionFacts' })
/** One version of an SOP. */
const SopVersion = z.strictObject({ id: SopId, ...facts, unit: StoredUnit.shape.unit }).meta({ id: 'SopVersion' })

const params = z.strictObject({ id: SopId })
const resource = { resourceType: 'sop' }
const written = z.strictObject({
  data: StoredSop,
  quality_score: z.number(),
  warnings: z.array(z.string()).optional(),
  sanitized: SanitizedPlaces,
})
const whoReadsFormer =
  'The author and its owner can see all versions; admins those that were not private; others the current version and the newest approved one, if these were shared with them. A version that is no longer shared cannot be read any more.'

export const listSops = operation({
  id: 'listSops',
  method: 'get',
  path: '/v1/sop',
  summary: 'List or search SOPs that you may see',
  description:
    'Searched and listed like GET /v1/knowledge, in their current versions. `domain` is that of the SOP or of its metadata. `total` stops counting at 1,001.',
  permission: 'knowledge:read',
  audit: resource,
  query: z.strictObject({
    ...searching,
    domain: z.string().min(1).max(300).optional(),
    approved: z
      .enum(['true', 'false'])
      .transform((word) => word === 'true')
      .optional()
      .meta({ description: 'Whether a version was approved' }),
  }),
  contributed: true,
  output: page(StoredSop.extend({ agent_id: z.string(), ...searchResultFields })).extend({ corrected: Corrected }),
})

export const contributeSop = operation({
  id: 'contributeSop',
  method: 'post',
  path: '/v1/sop',
  summary: 'Contribute an SOP',
  description: 'The same as POST /v1/knowledge with an ExpertSOP. Creates version 1.',
  permission: 'knowledge:write',
  stores: 'one record',
  audit: resource,
  body: ExpertSOP,
  bodyLimit: 'unit',
  contributed: true,
  output: written,
  refusals: ['content_rejected', 'id_in_use', 'erased', 'restricted'],
})

export const readSop = operation({
  id: 'readSop',
  method: 'get',
  path: '/v1/sop/{id}',
  summary: 'Read the current version of an SOP',
  description:
    'Returns 404 for an SOP that you cannot see. Returns 410 with the receipt’s id for an SOP of yours that was erased.',
  permission: 'knowledge:read',
  audit: resource,
  params,
  contributed: true,
  output: z.strictObject({ data: StoredSop }),
  refusals: ['not_found', 'erased'],
})

export const reviseSop = operation({
  id: 'reviseSop',
  method: 'put',
  path: '/v1/sop/{id}',
  summary: 'Create a new version of an SOP of your own',
  description:
    'Send the complete SOP. The previous version stays readable, and approvals of earlier versions remain. An identical text creates no new version. Votes on the previous version no longer count. To correct wrong data, use PATCH /v1/knowledge/{id}, which keeps no previous version. Admins can revise shared SOPs.',
  permission: 'knowledge:write',
  stores: 'one record',
  audit: resource,
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: ExpertSOP,
  bodyLimit: 'unit',
  contributed: true,
  output: written,
  refusals: ['content_rejected', 'not_found', 'erased', 'precondition_failed', 'restricted'],
})

export const listSopVersions = operation({
  id: 'listSopVersions',
  method: 'get',
  path: '/v1/sop/{id}/versions',
  summary: 'List the versions of an SOP',
  description: `Newest first, without their text. ${whoReadsFormer}`,
  permission: 'knowledge:read',
  audit: resource,
  params,
  query: z.strictObject({
    limit: PageLimit,
    offset: z.coerce.number().int().min(0).max(1_000_000).default(0),
    cursor: Cursor.optional(),
  }),
  output: page(SopVersionFacts),
  refusals: ['not_found', 'erased'],
})

export const readSopVersion = operation({
  id: 'readSopVersion',
  method: 'get',
  path: '/v1/sop/{id}/versions/{version}',
  summary: 'Read one version of an SOP',
  description: `${whoReadsFormer} Other versions return 404.`,
  permission: 'knowledge:read',
  audit: resource,
  params: z.strictObject({ id: SopId, version: VersionInPath }),
  contributed: true,
  output: z.strictObject({ data: SopVersion }),
  refusals: ['not_found', 'erased'],
})

export const eraseSopVersion = operation({
  id: 'eraseSopVersion',
  method: 'delete',
  path: '/v1/sop/{id}/versions/{version}',
  summary: 'Erase an earlier version of an SOP of your own',
  description:
    'Erases an earlier version that was wrong or personal. To correct the current version, use PATCH /v1/knowledge/{id} (409 here). The other versions keep their numbers. If this was the newest approved version, an older approved one replaces it. Cached answers that show it are deleted. There is no receipt: the audit log and the deletion log name the version. Admins can erase versions of shared SOPs.',
  permission: 'knowledge:write',
  audit: { resourceType: 'sop_version' },
  deletes: { counts: 'sopVersionsDeleted' },
  params: z.strictObject({ id: SopId, version: VersionInPath }),
  headers: z.object({ 'if-match': z.string().optional() }),
  output: z.undefined(),
  refusals: ['not_found', 'erased', 'conflict', 'held', 'precondition_failed'],
})

export const approveSop = operation({
  id: 'approveSop',
  method: 'post',
  path: '/v1/sop/{id}/approve',
  summary: 'Approve a version of an SOP',
  description:
    'For admins, except of what they or their agents wrote. Approves the current version unless another one is named. With If-Match, only the version that you read is approved. Approving again keeps the first approver and time. A rectification of the version revokes its approval. A repetition by Idempotency-Key returns the current version: no copy of `unit` is stored with the response.',
  permission: 'knowledge:admin',
  audit: { action: 'update', ...resource },
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: z.strictObject({ version: Version.optional() }).optional(),
  contributed: true,
  output: z.strictObject({ data: StoredSop }),
  secrets: ['unit'],
  refusals: ['not_found', 'forbidden', 'erased', 'precondition_failed'],
})

export const exportSopAsSkill = operation({
  id: 'exportSopAsSkill',
  method: 'post',
  path: '/v1/sop/{id}/export-skill',
  summary: 'Render an SOP as a SKILL.md',
  description:
    'Renders the current version as front matter and Markdown for any agent that reads skills, without the expert’s name. Nothing is stored unless `publish` is true. Then the result becomes your own skill (scope write), with the visibility of the SOP, and remains if the SOP changes or is deleted. 409 if you have a skill of that name. A repetition with the same Idempotency-Key renders the current version and publishes nothing again.',
  permission: 'knowledge:read',
  audit: { action: 'export', ...resource },
  params,
  body: z.strictObject({ publish: z.boolean().optional() }).optional(),
  contributed: true,
  output: z.strictObject({
    data: z.strictObject({
      name: z.string(),
      skill_md: z.string(),
      files: z.array(z.strictObject({ path: z.string(), content: z.string() })),
      skill_id: z.string().optional().meta({ description: 'Id of the published skill' }),
    }),
  }),
  secrets: ['name', 'skill_md', 'files'],
  refusals: ['not_found', 'erased', 'conflict', 'too_large', 'content_rejected', 'restricted'],
})
