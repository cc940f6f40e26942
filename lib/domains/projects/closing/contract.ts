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
  summary: 'Close a project: its data goes in 30 days',
  description:
    'For its owners, managers of its organisation, and admins. Members, and the owners of agents that are members, are told at once, 7 days and 1 day before; until then everything can be read, exported and written as before, and reopening calls it off. Then all of its data is erased in every store, with a certificate. A legal hold stops that as long as it lasts.',
  permission: 'projects:write',
  audit: { action: 'update', ...project },
  limit: 'write',
  status: 200,
  params,
  body: z
    .strictObject({
      reason: z
        .enum(erasureReasons)
        .default(usualReason)
        .meta({ description: 'The audit log, the deletion log and the certificate say it' }),
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
  summary: 'Erase a project: it is closed, and its data goes in 30 days',
  description: 'Never at once: the same as closing it.',
})
export const reopenProject = operation({
  id: 'reopenProject',
  method: 'post',
  path: '/api/projects/{projectId}/reopen',
  summary: 'Call off the closing of a project',
  description: 'For its owners, managers of its organisation, and admins, until its erasure begins.',
  permission: 'projects:write',
  audit: { action: 'update', ...project },
  limit: 'write',
  status: 200,
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
  summary: 'Everything in a project that you may see',
  description:
    'For its members. `ndjson`: a header line, a line `{part, …record}` for each record, and a last line with the totals. `zip`: manifest.json with counts and SHA-256, every part as JSON and as CSV, and the bytes of documents and attachments as files. It includes the project’s knowledge graph (`graph_episodes`, `graph_entities`, `graph_facts`, `graph_communities`, `graph_sagas`) without embeddings, and its threads in the checkpoint store (`checkpoints`). While something of the project is being erased, `left_out` in the header names the parts that are missing. So it does for agents while a participant’s processing is restricted; what the participant wrote is missing then, too. Streamed as it is read; a transfer that breaks off is no whole one.',
  permission: 'projects:read',
  audit: { action: 'export', ...project },
  limit: 'read',
  status: 200,
  params,
  query: z.strictObject({ format: z.enum(projectExportFormats).default('ndjson') }),
  contributed: true,
  output: z.string(),
  produces: ['application/x-ndjson', 'application/zip'],
  refusals: ['not_found'],
})
