import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { countField, Id } from '../contract.ts'
import { importBounds } from './rules.ts'

const ImportFault = z.strictObject({
  line: countField.meta({ description: 'Line number, starting at 1' }),
  code: z.string().meta({ description: 'The code of the problem that this line alone would have caused' }),
  field: z.string().nullable().meta({ description: 'The field of the line with the error' }),
  detail: z.string().optional().meta({ description: 'Why the line is rejected, and what to do' }),
})
export const ProjectImport = z
  .strictObject({
    received: countField.meta({ description: 'Number of lines that are not blank' }),
    stored: z.strictObject({
      conversations: countField,
      participants: countField,
      messages: countField,
      documents: countField,
    }),
    skipped: countField.meta({ description: 'Lines whose identical content is already stored' }),
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
    'For tokens of agents that are members. NDJSON: each line is an object with a `type`.',
    '`project`: `{type, region}`, on the first line: the region in which the imported data must stay, or null. The import is rejected unless the region of this project is within it.',
    '`conversation`: `{type, id, title, threads?, region?, created_at?}`. `participant`: `{type, external_id, name?, email?}`.',
    '`message`: `{type, id, conversation_id, role, content, author?, created_at?, provenance?}`, with the fields of POST …/messages. Its conversation must exist or be on an earlier line.',
    '`document`: `{type, id, name, content | content_base64, media_type?, kind?, made_from?, author?, created_at?, provenance?}`, at most 1 MiB. `media_type` is `text/plain` if omitted. For larger files, use POST …/documents with the same `id`.',
    'The import can be repeated: lines whose content is already stored are skipped, but their new pointers are stored.',
    'A line is stored completely or not at all, and a line that fails does not stop the others. Errors: `id_in_use` for an id with other content or another author, `erased` for the id of erased data, `not_found` for a conversation of another project, `malformed_json` for a line that is not JSON.',
    `At most ${importBounds.lines.toLocaleString('en')} lines, ${importBounds.bytes / 2 ** 20} MiB, and ${importBounds.lineBytes / 2 ** 20} MiB per line. The import counts as one write.`,
  ].join(' '),
  permission: 'projects:write',
  stores: 'one record',
  audit: { resourceType: 'import' },
  status: 200,
  params: z.strictObject({ projectId: Id }),
  upload: ['application/x-ndjson'],
  output: z.strictObject({ data: ProjectImport }),
  refusals: ['not_found', 'forbidden', 'fenced', 'restricted', 'idempotency_in_progress', 'conflict'],
})
