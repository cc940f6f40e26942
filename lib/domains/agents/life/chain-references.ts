import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { ChainReference } from '../../../../generated/prisma/client.ts'
import { erasableAgent, ownAgent, writableAgent } from './agent-access.ts'
import { addChainReference, chainPermanence, deleteChainReference, listChainReferences } from './chain-contract.ts'
import { type ChainReferenceKind, chainFact, chainReferenceKinds } from './chain-rules.ts'
import { chainReferencesPage } from './repository.ts'
import { mostChainReferences } from './rules.ts'
import type { LifePorts } from './status.ts'

const kindOf = (text: string): ChainReferenceKind => chainReferenceKinds.find((kind) => kind === text) ?? 'attestation'
const viewOf = (row: Pick<ChainReference, 'id' | 'chain' | 'kind' | 'reference' | 'reportedAt'>) => ({
  id: row.id,
  chain: row.chain,
  kind: kindOf(row.kind),
  reference: row.reference,
  reported_at: row.reportedAt.toISOString(),
  is_public: true as const,
  is_permanent: true as const,
})

/** References to data on public blockchains about an agent. */
export const agentChainReferences = ({ db, regions }: LifePorts) => ({
  listChainReferences: read(listChainReferences, async ({ actor }, { params: { id }, query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    await ownAgent(db, actor, id)
    const [rows, total] = await Promise.all([
      chainReferencesPage(db, { agent: id, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 }),
      db.prisma.chainReference.count({ where: { agentId: id } }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ reportedAt, id }) => ({ at: reportedAt, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(viewOf),
        ...page,
        why: chainPermanence,
      },
    }
  }),

  addChainReference: mutation(
    addChainReference,
    async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
      const fact = chainFact(body)
      if ('wrong' in fact) throw invalid([fact.wrong], fact.message)
      await writableAgent(regions)(tx, actor, agentId)
      const known = await tx.chainReference.findFirst({ where: { agentId, ...fact } })
      if (!known && (await tx.chainReference.count({ where: { agentId } })) >= mostChainReferences)
        throw new Problem(
          'conflict',
          `This agent has ${mostChainReferences.toLocaleString('en')} chain references, which is the limit. Nothing was stored. Delete one first.`,
        )
      const row =
        known ?? (await tx.chainReference.create({ data: { id: newId('chain'), agentId, ...fact, reportedAt: now } }))
      return {
        body: { data: viewOf(row), why: chainPermanence },
        resourceId: row.id,
        details: { agent_id: agentId, kind: row.kind, changed: known === null },
        ...(known && { status: 200 }),
      }
    },
    async ({ tx, actor }, { params: { id: agentId } }, { id }) => {
      await writableAgent(regions)(tx, actor, agentId)
      const row = await tx.chainReference.findFirst({ where: { id: String(id), agentId } })
      if (!row) throw new Problem('conflict', 'The chain reference was created and has since been deleted.')
      const { chain, reference } = viewOf(row)
      return { chain, reference }
    },
  ),

  deleteChainReference: mutation(
    deleteChainReference,
    async ({ tx, actor, now }, { params: { id: agentId, referenceId } }) => {
      await erasableAgent(tx, actor, agentId, now)
      const { count } = await tx.chainReference.deleteMany({ where: { id: referenceId, agentId } })
      if (count === 0) throw new Problem('not_found', 'This agent has no chain reference with this id.')
      return {
        body: {
          message: 'Our reference is deleted. The data on the blockchain is public and permanent: nobody can erase it.',
        },
        resourceId: referenceId,
        details: { agent_id: agentId },
      }
    },
  ),
})
