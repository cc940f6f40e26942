import { z } from 'zod'
import { Id, ProjectView, project } from '#lib/domains/projects/contract.ts'
import { erasureReasons } from '#lib/domains/projects/rules.ts'
import { operation } from '#lib/kernel/operation.ts'
import { usualReason } from './rules.ts'

const params = z.strictObject({ projectId: Id })

export const closeProject = operation({
  id: 'closeProject',
  method: 'post',
  path: '/api/projects/{projectId}/close',
  summary: 'Close a project: its data is deleted in 30 days',
  description:
    'For its owners, managers of its organization, and admins. Members, and the owners of member agents, are notified immediately and 7 days and 1 day before the deletion. Until then everything can be read, exported and written as before, and reopening cancels the deletion. Then all of its data is erased in every store, with a receipt. A legal hold prevents the erasure while it lasts.',
  permission: 'projects:write',
  audit: { action: 'update', ...project },
  params,
  body: z
    .strictObject({
      reason: z
        .enum(erasureReasons)
        .default(usualReason)
        .meta({ description: 'Stored in the audit log, the deletion log and the receipt' }),
    })
    .optional(),
  output: z.strictObject({ data: ProjectView }),
  secrets: ['name'],
  refusals: ['not_found', 'forbidden', 'wrong_state', 'fenced'],
})
export const deleteProject = operation({
  ...closeProject,
  id: 'deleteProject',
  method: 'delete',
  path: '/api/projects/{projectId}',
  summary: 'Erase a project: it is closed, and its data is deleted in 30 days',
  description: 'Never immediate: the same as closing the project.',
})
export const reopenProject = operation({
  id: 'reopenProject',
  method: 'post',
  path: '/api/projects/{projectId}/reopen',
  summary: 'Reopen a project',
  description: 'For its owners, managers of its organization, and admins, until its erasure begins.',
  permission: 'projects:write',
  audit: { action: 'update', ...project },
  params,
  output: z.strictObject({ data: ProjectView }),
  secrets: ['name'],
  refusals: ['not_found', 'forbidden', 'wrong_state', 'fenced'],
})
const projectExportFormats = ['ndjson', 'zip'] as const
export const exportProject = operation({
  id: 'exportProject',
  method: 'get',
  path: '/api/projects/{projectId}/export',
  summary: 'Export all content of a project that you may see',
  description:
    'For its members. `ndjson`: a header line, a line `{part, …record}` for each record, and a last line with the totals. `zip`: manifest.json with counts and SHA-256, every part as JSON and as CSV, and the documents and attachments as files. It includes the project’s knowledge graph (`graph_episodes`, `graph_entities`, `graph_facts`, `graph_communities`, `graph_sagas`) without embeddings, and its threads in the checkpoint store (`checkpoints`). While data of the project is being erased, `left_out` in the header names the missing parts. For agents, parts are also missing while a participant’s processing is restricted, and so is the content that the participant wrote.',
  permission: 'projects:read',
  audit: { action: 'export', ...project },
  params,
  query: z.strictObject({ format: z.enum(projectExportFormats).default('ndjson') }),
  contributed: true,
  output: z.string(),
  produces: ['application/x-ndjson', 'application/zip'],
  refusals: ['not_found'],
})
