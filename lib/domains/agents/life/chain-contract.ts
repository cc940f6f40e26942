import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { chainReferenceKinds } from './chain-rules.ts'
import { AgentParam, agentParams } from './contract.ts'
import { mostChainReferences } from './rules.ts'

const when = z.iso.datetime()
const reference = { resourceType: 'chain_reference' } as const
/** Why the referenced blockchain data cannot be erased. */
export const chainPermanence =
  'What stands on a public blockchain is public and permanent: nobody can change or erase it there, we neither. What we hold, and erase, is the note of it.'

const ChainReference = z
  .strictObject({
    id: z.string(),
    chain: z.string().meta({ description: 'CAIP-2: eip155:1, bip122:…' }),
    kind: z.enum(chainReferenceKinds),
    reference: z.string().meta({ description: 'An address of Ethereum has the capitals of EIP-55' }),
    reported_at: when,
    is_public: z.literal(true),
    is_permanent: z.literal(true),
  })
  .meta({ id: 'ChainReference' })

export const listChainReferences = operation({
  id: 'listChainReferences',
  method: 'get',
  path: '/v1/agents/{id}/chain-references',
  summary: 'What stands on blockchains about an agent, newest note first',
  description: chainPermanence,
  permission: 'agents:read',
  audit: { action: 'read', ...reference },
  limit: 'read',
  status: 200,
  params: agentParams,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ChainReference).extend({ why: z.string().meta({ description: 'Why it is permanent, in words' }) }),
  refusals: ['not_found'],
})

export const addChainReference = operation({
  id: 'addChainReference',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/chain-references',
  summary: 'Note what stands on a blockchain about an agent',
  description: `${chainPermanence} A note that is there already is answered with 200. ${mostChainReferences.toLocaleString('en')} notes of an agent at most.`,
  permission: 'agents:write',
  stores: 'one record',
  audit: { action: 'create', ...reference },
  limit: 'write',
  status: 201,
  params: agentParams,
  body: z.strictObject({
    chain: z.string().max(41),
    kind: z.enum(chainReferenceKinds),
    reference: z.string().min(1).max(128),
  }),
  output: z.strictObject({ data: ChainReference, why: z.string() }),
  // The reference may be deleted before the stored idempotent response expires.
  secrets: ['chain', 'reference'],
  refusals: ['not_found', 'conflict', 'paused', 'dead', 'restricted', 'wrong_state', 'fenced'],
})

export const deleteChainReference = operation({
  id: 'deleteChainReference',
  method: 'delete',
  path: '/v1/agents/{id}/chain-references/{referenceId}',
  summary: 'Delete our note of what stands on a blockchain',
  description: `Also of an agent that is paused; of a dead one by its owner. ${chainPermanence}`,
  permission: 'agents:write',
  audit: { action: 'delete', ...reference },
  deletes: { counts: 'chainReferencesDeleted' },
  limit: 'write',
  status: 200,
  params: z.strictObject({
    id: AgentParam,
    referenceId: z.string().regex(/^chain_[0-9A-Za-z]{22}$/, 'is no id of a note'),
  }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['not_found', 'held'],
})
