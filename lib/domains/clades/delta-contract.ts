import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { PageLimit } from '#lib/kernel/pages.ts'
import { CladeDigest, CladePayload, cladeAgentParams } from './contract.ts'

const when = z.iso.datetime()
const delta = { resourceType: 'clade_delta' }

export const DeltaView = z
  .strictObject({
    seq: z.int(),
    action: z
      .enum(['add', 'remove'])
      .meta({ description: '`remove`: the share was recalled; delete it and everything derived from it' }),
    share_id: z.string(),
    from: z.string().nullable().meta({ description: 'The sibling that sent it; null if that sibling was erased' }),
    payload: CladePayload.nullable().meta({ description: 'Null if the share must be removed' }),
    digest: CladeDigest.nullable(),
    manifest: z.string().nullable(),
    shared_at: when.nullable(),
  })
  .meta({ id: 'CladeDelta' })
export type DeltaView = z.output<typeof DeltaView>

const After = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0)
const sequence = z.strictObject({ after: After, limit: PageLimit })
const Deltas = z.strictObject({
  data: z.array(DeltaView),
  next_after: z.int().meta({ description: 'Number after which to continue' }),
})

export const readDeltas = operation({
  id: 'readCladeDeltas',
  method: 'get',
  path: '/v1/agents/{id}/clade/deltas',
  summary: 'List what siblings sent and recalled, in order, until it is acknowledged',
  permission: 'clades:read',
  audit: { action: 'read', ...delta },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  query: sequence,
  contributed: true,
  output: Deltas,
  refusals: ['not_found'],
})

export const acknowledgeDeltas = operation({
  id: 'acknowledgeCladeDeltas',
  method: 'post',
  path: '/v1/agents/{id}/clade/deltas/ack',
  summary: 'Acknowledge shares that were received or removed',
  description:
    'Acknowledges everything up to this number: shares to add count as delivered, shares to remove as removed.',
  permission: 'clades:self',
  audit: { action: 'update', ...delta },
  limit: 'write',
  status: 200,
  params: cladeAgentParams,
  body: z.strictObject({ through: z.int().min(1) }),
  output: z.strictObject({
    data: z.strictObject({ through: z.int(), delivered: z.int(), removed: z.int() }),
  }),
  refusals: ['not_found', 'fenced', 'scope_too_small'],
})

export const listReceived = operation({
  id: 'listCladeReceived',
  method: 'get',
  path: '/v1/agents/{id}/clade/received',
  summary: 'List what an agent currently has from its siblings',
  permission: 'clades:read',
  audit: { action: 'read', ...delta },
  limit: 'read',
  status: 200,
  params: cladeAgentParams,
  query: sequence,
  contributed: true,
  output: Deltas,
  refusals: ['not_found'],
})
