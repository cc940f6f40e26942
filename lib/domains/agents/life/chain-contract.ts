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
  'Data on a public blockchain is public and permanent. Nobody can change or erase it there, including us. We store only a reference to it, and can erase that reference.'

const ChainReference = z
  .strictObject({
    id: z.string(),
    chain: z.string().meta({ description: 'CAIP-2, for example eip155:1 or bip122:…' }),
    kind: z.enum(chainReferenceKinds),
    reference: z.string().meta({ description: 'An Ethereum address uses EIP-55 capitals' }),
    reported_at: when,
    is_public: z.literal(true),
    is_permanent: z.literal(true),
  })
  .meta({ id: 'ChainReference' })

export const listChainReferences = operation({
  id: 'listChainReferences',
  method: 'get',
  path: '/v1/agents/{id}/chain-references',
  summary: 'List the blockchain references of an agent, newest first',
  description: chainPermanence,
  permission: 'agents:read',
  audit: { action: 'read', ...reference },
  limit: 'read',
  status: 200,
  params: agentParams,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(ChainReference).extend({ why: z.string().meta({ description: 'Explains why the data is permanent' }) }),
  refusals: ['not_found'],
})

export const addChainReference = operation({
  id: 'addChainReference',
  alsoStatus: [200],
  method: 'post',
  path: '/v1/agents/{id}/chain-references',
  summary: 'Add a reference to blockchain data about an agent',
  description: `${chainPermanence} An existing reference is returned with 200. At most ${mostChainReferences.toLocaleString('en')} references per agent.`,
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
  summary: 'Delete our reference to blockchain data about an agent',
  description: `Works for paused agents. For a retired agent, only its owner can delete. ${chainPermanence}`,
  permission: 'agents:write',
  audit: { action: 'delete', ...reference },
  deletes: { counts: 'chainReferencesDeleted' },
  limit: 'write',
  status: 200,
  params: z.strictObject({
    id: AgentParam,
    referenceId: z.string().regex(/^chain_[0-9A-Za-z]{22}$/, 'is not the id of a note'),
  }),
  output: z.strictObject({ message: z.string() }),
  refusals: ['not_found', 'held'],
})
