import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const OrganisationId = z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organisation')
const Namespace = z
  .string()
  .regex(/^(?:\*|[\w.:-]{3,200})$/, 'is *, or 3 to 200 letters, digits, _ . : and -')
  .meta({ description: 'A prefix, or `*` for every id that is in no other organisation’s namespace' })

const NamespaceView = z
  .strictObject({
    organisation_id: z.string(),
    prefix: z.string().meta({ description: 'The organisation’s own; nobody else gets ids that begin with it' }),
    namespaces: z.array(z.string()).meta({ description: 'Assigned by an admin' }),
    is_any: z.boolean().meta({
      description:
        'Every id that is in no other organisation’s namespace may be claimed: an admin assigned `*`, or all people here belong to this organisation',
    }),
  })
  .meta({ id: 'StoreNamespace' })
const output = z.strictObject({ data: NamespaceView })
const organisation = { resourceType: 'organisation' }

export const readNamespace = operation({
  id: 'readStoreNamespace',
  method: 'get',
  path: '/api/stores/namespace',
  summary: 'The ids that your organisation may claim',
  description:
    'A project’s `group_id` and a conversation’s `threads` begin with one of these prefixes, because their erasure deletes them; so do chosen ids of units, unless others cannot guess them.',
  permission: 'projects:read',
  audit: { none: 'the id and the prefixes of the caller’s own organisation' },
  limit: 'read',
  status: 200,
  output,
  refusals: ['not_found'],
})

export const assignNamespaces = operation({
  id: 'assignStoreNamespaces',
  method: 'put',
  path: '/api/admin/organisations/{id}/namespaces',
  summary: 'Assign prefixes of ids to an organisation',
  description:
    'Replaces the assigned prefixes. Prefixes of two organisations never overlap. Claims that exist stay valid. The organisation’s own prefix needs no assignment.',
  permission: 'accounts:admin',
  audit: { action: 'update', ...organisation },
  limit: 'write',
  status: 200,
  params: z.strictObject({ id: OrganisationId }),
  body: z.strictObject({ namespaces: z.array(Namespace).max(20, 'has 20 at most') }),
  output,
  refusals: ['not_found', 'conflict'],
})
