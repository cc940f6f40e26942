import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const OrganisationId = z.string().regex(/^org_[0-9A-Za-z]{22}$/, 'is not the id of an organization')
const Namespace = z
  .string()
  .regex(/^(?:\*|[\w.:-]{3,200})$/, 'must be *, or 3 to 200 letters, digits, _ . : and -')
  .meta({ description: 'A prefix, or `*` for every id outside the namespaces of other organizations' })

const NamespaceView = z
  .strictObject({
    organisation_id: z.string(),
    prefix: z
      .string()
      .meta({ description: 'The organization’s own prefix. No other organization can claim ids that begin with it' }),
    namespaces: z.array(z.string()).meta({ description: 'Assigned by an admin' }),
    is_any: z.boolean().meta({
      description:
        'The organization may claim every id outside the namespaces of other organizations: an admin assigned `*`, or everyone on this installation belongs to this organization',
    }),
  })
  .meta({ id: 'StoreNamespace' })
const output = z.strictObject({ data: NamespaceView })
const organisation = { resourceType: 'organisation' }

export const readNamespace = operation({
  id: 'readStoreNamespace',
  method: 'get',
  path: '/api/stores/namespace',
  summary: 'List the id prefixes that your organization may claim',
  description:
    'A project’s `group_id` and a conversation’s `threads` must begin with one of these prefixes, because erasing the project or conversation deletes them. Chosen ids of units must also begin with one, unless the id cannot be guessed.',
  permission: 'projects:read',
  audit: { none: 'the id and the prefixes of the caller’s own organization' },
  limit: 'read',
  status: 200,
  output,
  refusals: ['not_found'],
})

export const assignNamespaces = operation({
  id: 'assignStoreNamespaces',
  needsRecentPassword: true,
  method: 'put',
  path: '/api/admin/organisations/{id}/namespaces',
  summary: 'Assign id prefixes to an organization',
  description:
    'Replaces the assigned prefixes. Prefixes of two organizations never overlap. Existing claims remain valid. The organization’s own prefix needs no assignment.',
  permission: 'accounts:admin',
  audit: { action: 'update', ...organisation },
  limit: 'write',
  status: 200,
  params: z.strictObject({ id: OrganisationId }),
  body: z.strictObject({ namespaces: z.array(Namespace).max(20, 'must have at most 20 items') }),
  output,
  refusals: ['not_found', 'conflict'],
})
