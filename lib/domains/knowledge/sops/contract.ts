import { z } from 'zod'
import { SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { StoredUnit } from '../contract.ts'
import { Corrected, searching, searchResultFields } from '../search/contract.ts'
import { ExpertSOP } from '../unit.ts'

const SopId = z
  .string()
  .regex(/^kp:sop:[A-Za-z0-9_-]{1,64}$/, 'is not the id of an SOP')
  .meta({ description: 'Such as kp:sop:6d961dbbe7e9' })
const Version = z.int().min(1, 'starts at 1').max(2_147_483_647, 'is no version')
const VersionInPath = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, 'is the number of a version')
  .transform(Number)
  .pipe(Version)

/** An SOP in its current version; `approved_version` is the newest approved version. */
export const StoredSop = z
  .strictObject({
    ...StoredUnit.shape,
    id: SopId,
    version: Version.meta({ description: 'Of the present wording; the first is 1' }),
    approved_version: Version.nullable().meta({
      description: 'The newest approved wording, which may be a former one',
    }),
    approved_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'StoredSop' })

const facts = {
  version: Version,
  created_by: z
    .string()
    .nullable()
    .meta({ description: 'Who wrote it: an agent, or `user:<id>`; null for who sees not every wording' }),
  created_at: z.iso.datetime(),
  approved_by: z.string().nullable().meta({ description: 'Likewise' }),
  approved_at: z.iso.datetime().nullable(),
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
  'The author and its owner see every wording; admins those that were not private; others the present one and the newest approved one, as far as these were shared with them: what was taken back is not theirs to keep reading.'

export const listSops = operation({
  id: 'listSops',
  method: 'get',
  path: '/v1/sop',
  summary: 'SOPs that you may see',
  description:
    'Searched and listed as GET /v1/knowledge, in their present wordings. `domain` is that of the SOP or of its metadata. `total` stops counting at 1,001.',
  permission: 'knowledge:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    ...searching,
    domain: z.string().min(1).max(300).optional(),
    approved: z
      .enum(['true', 'false'])
      .transform((word) => word === 'true')
      .optional()
      .meta({ description: 'Whether a wording was approved' }),
  }),
  contributed: true,
  output: page(StoredSop.extend({ agent_id: z.string(), ...searchResultFields })).extend({ corrected: Corrected }),
})

export const contributeSop = operation({
  id: 'contributeSop',
  method: 'post',
  path: '/v1/sop',
  summary: 'Contribute an SOP',
  description: 'The same as POST /v1/knowledge with an ExpertSOP; this is its version 1.',
  permission: 'knowledge:write',
  stores: 'one record',
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 201,
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
  summary: 'Read an SOP in its present wording',
  description: 'What you may not see is a 404. An SOP of yours that was erased is a 410 with its receipt’s id.',
  permission: 'knowledge:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  params,
  contributed: true,
  output: z.strictObject({ data: StoredSop }),
  refusals: ['not_found', 'erased'],
})

export const reviseSop = operation({
  id: 'reviseSop',
  method: 'put',
  path: '/v1/sop/{id}',
  summary: 'Give an SOP of your own a new version',
  description:
    'Takes the whole SOP; the wording so far stays readable as a former version, and what was approved stays approved. The same wording again makes no new version. Votes were for the wording so far and count no more. Data that was wrong belongs in PATCH /v1/knowledge/{id}, which keeps no former wording; wrong data in a former wording is erased with DELETE /v1/sop/{id}/versions/{version}. Admins may revise what is shared.',
  permission: 'knowledge:write',
  stores: 'one record',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
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
  summary: 'The wordings that an SOP had',
  description: `Newest first, without their text. ${whoReadsFormer}`,
  permission: 'knowledge:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
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
  summary: 'Read one wording of an SOP',
  description: `${whoReadsFormer} Any other is a 404.`,
  permission: 'knowledge:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: SopId, version: VersionInPath }),
  contributed: true,
  output: z.strictObject({ data: SopVersion }),
  refusals: ['not_found', 'erased'],
})

export const eraseSopVersion = operation({
  id: 'eraseSopVersion',
  method: 'delete',
  path: '/v1/sop/{id}/versions/{version}',
  summary: 'Erase one former wording of an SOP of your own',
  description:
    'Erases an earlier wording that was wrong or personal. Correct the present wording with PATCH /v1/knowledge/{id} (409 here). The other wordings keep their numbers. If this was the newest approved wording, an older approved one replaces it. Stored answers that show it are deleted. There is no receipt, because the SOP is not erased: the audit log and the deletion log name the version. Admins may erase wordings of shared SOPs.',
  permission: 'knowledge:write',
  audit: { action: 'delete', resourceType: 'sop_version' },
  deletes: { counts: 'sopVersionsDeleted' },
  limit: 'write',
  status: 204,
  params: z.strictObject({ id: SopId, version: VersionInPath }),
  headers: z.object({ 'if-match': z.string().optional() }),
  output: z.undefined(),
  refusals: ['not_found', 'erased', 'conflict', 'held', 'precondition_failed'],
})

export const approveSop = operation({
  id: 'approveSop',
  method: 'post',
  path: '/v1/sop/{id}/approve',
  summary: 'Approve a wording of an SOP',
  description:
    'Admins approve; the present wording unless another version is named. With If-Match only what you read is approved, whatever came meanwhile. Approving again changes nothing: who approved first, and when, stays. A rectification of the wording takes its approval back. A repetition by Idempotency-Key returns the present wording: no copy of `unit` is stored with the answer.',
  permission: 'knowledge:admin',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: z.strictObject({ version: Version.optional() }).optional(),
  contributed: true,
  output: z.strictObject({ data: StoredSop }),
  secrets: ['unit'],
  refusals: ['not_found', 'erased', 'precondition_failed'],
})

export const exportSopAsSkill = operation({
  id: 'exportSopAsSkill',
  method: 'post',
  path: '/v1/sop/{id}/export-skill',
  summary: 'Render an SOP as a SKILL.md',
  description:
    'The present wording as front matter and Markdown for any agent that reads skills, without the expert’s name. Nothing is stored unless `publish` is true: then it becomes your own skill (scope write), as visible as the SOP, and stays if the SOP changes or is deleted. 409 if you have a skill of that name. A repetition with the same Idempotency-Key renders the present wording and publishes nothing again.',
  permission: 'knowledge:read',
  audit: { action: 'export', ...resource },
  limit: 'write',
  status: 200,
  params,
  body: z.strictObject({ publish: z.boolean().optional() }).optional(),
  contributed: true,
  output: z.strictObject({
    data: z.strictObject({
      name: z.string(),
      skill_md: z.string(),
      files: z.array(z.strictObject({ path: z.string(), content: z.string() })),
      skill_id: z.string().optional().meta({ description: 'Of the skill that was published' }),
    }),
  }),
  secrets: ['name', 'skill_md', 'files'],
  refusals: ['not_found', 'erased', 'conflict', 'too_large', 'content_rejected', 'restricted'],
})
