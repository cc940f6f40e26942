import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { RequestedAgentId } from './contract.ts'

export const ErasurePlanView = z
  .strictObject({
    holdings: z.array(
      z.strictObject({
        holder: z.string(),
        store: z.string(),
        what: z.string(),
        count: z.number().int(),
        held: z.array(z.strictObject({ hold_id: z.string(), count: z.number().int() })),
      }),
    ),
    total: z.number().int(),
    retained: z.array(z.strictObject({ what: z.string(), ground: z.string(), until: z.string().nullable() })),
    remaining_projects: z.number().int().optional().meta({
      description: 'Owned open projects that others use. An erasure keeps them',
    }),
  })
  .meta({ id: 'ErasurePlan' })

export const planErasure = operation({
  id: 'planErasure',
  method: 'get',
  path: '/api/privacy/plan',
  summary: 'Preview what an erasure would delete, without deleting anything',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'read', resourceType: 'request' },
  // Computing a plan costs as much as preparing an erasure.
  limit: 'write',
  status: 200,
  query: z.strictObject({ agent_id: RequestedAgentId.optional() }),
  output: z.strictObject({ data: ErasurePlanView }),
  refusals: ['not_found'],
})
