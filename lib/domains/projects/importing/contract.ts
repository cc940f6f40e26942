import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { countField, Id } from '../contract.ts'
import { importBounds } from './rules.ts'

const ImportFault = z.strictObject({
  line: countField.meta({ description: 'Number of the line, from 1' }),
  code: z.string().meta({ description: 'The code of the problem that the line alone would have had' }),
  field: z.string().nullable().meta({ description: 'The field of the line that the fault is about' }),
  detail: z.string().optional().meta({ description: 'Of a region: why it is refused, and what to do' }),
})
export const ProjectImport = z
  .strictObject({
    received: countField.meta({ description: 'Lines that are not blank' }),
    stored: z.strictObject({
      conversations: countField,
      participants: countField,
      messages: countField,
      documents: countField,
    }),
    skipped: countField.meta({ description: 'Lines whose content is stored already, identically' }),
    failed: countField,
    faults: z.array(ImportFault).meta({ description: `The first ${importBounds.faults}` }),
  })
  .meta({ id: 'ProjectImport' })
export type ProjectImport = z.output<typeof ProjectImport>
export type ImportFault = z.output<typeof ImportFault>

export const importHistory = operation({
  id: 'importProjectHistory',
  method: 'post',
  path: '/api/projects/{projectId}/import',
  summary: 'Import the history of an application',
  description: [
    'For tokens of agents that are members. NDJSON; a line is an object with a `type`.',
    '`project`: `{type, region}`, first: where the imported data must stay, or null. The import is refused unless the region of this project is within it.',
    '`conversation`: `{type, id, title, threads?, region?, created_at?}`. `participant`: `{type, external_id, name?, email?}`.',
    '`message`: `{type, id, conversation_id, role, content, author?, created_at?, provenance?}`, with the fields of POST …/messages; its conversation comes in an earlier line or exists.',
    '`document`: `{type, id, name, content | content_base64, media_type?, kind?, made_from?, author?, created_at?, provenance?}`, of 1 MiB at most; `media_type` is `text/plain` unless given. Larger files: POST …/documents with the same `id`.',
    'Ids are the application’s own. The import can be repeated: a line whose content is stored already is skipped, and pointers that it adds are stored.',
    'A line is stored whole or not at all, and a line that fails does not stop the others: an id with other content or another author is `id_in_use`, the id of something that was erased `erased`, a conversation of another project `not_found`, a line that is not JSON `malformed_json`.',
    `At most ${importBounds.lines.toLocaleString('en')} lines and ${importBounds.bytes / 2 ** 20} MiB; a line has ${importBounds.lineBytes / 2 ** 20} MiB at most. If the transfer breaks off, the lines before stay stored; send the whole file again. It counts as one write.`,
  ].join(' '),
  permission: 'projects:write',
  stores: 'one record',
  audit: { action: 'create', resourceType: 'import' },
  limit: 'write',
  status: 200,
  params: z.strictObject({ projectId: Id }),
  upload: ['application/x-ndjson'],
  output: z.strictObject({ data: ProjectImport }),
  refusals: ['not_found', 'forbidden', 'fenced', 'restricted', 'idempotency_in_progress', 'conflict'],
})
