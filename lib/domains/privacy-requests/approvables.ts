import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { fileForParticipant } from './participant-contract.ts'
import { verifyByAdmin } from './queue/contract.ts'

type NamesOf = (tx: Transaction, ids: { accounts: string[]; agents: string[] }) => Promise<ReadonlyMap<string, string>>

type ProjectOfParticipant = (tx: Transaction, participantId: string) => Promise<string | undefined>

/** Actions with which an admin identifies the subject of an erasure. */
export const requestApprovables = (namesOf: NamesOf, projectOf: ProjectOfParticipant): readonly Approvable[] => [
  approvable(verifyByAdmin, async (tx, { params: { id } }) => {
    const row = await tx.privacyRequest.findUnique({ where: { id } })
    if (!row) throw new Problem('not_found', 'There is no such request.')
    const { accountId, agentId, participantId, kinds, grace, state } = row
    const subject = accountId ?? agentId ?? participantId
    const names = await namesOf(tx, { accounts: accountId ? [accountId] : [], agents: agentId ? [agentId] : [] })
    return {
      subjects: [accountId ?? [], agentId ?? []].flat(),
      facts: {
        request: id,
        kinds: kinds.join(', '),
        grace,
        state,
        target: subject,
        name: names.get(subject ?? '') ?? null,
      },
    }
  }),
  approvable(fileForParticipant, async (tx, { params: { projectId, participantId }, body: { kinds, grace } }) => {
    if ((await projectOf(tx, participantId)) !== projectId)
      throw new Problem('not_found', 'There is no such participant.')
    return { facts: { kinds: kinds.join(', '), grace: grace ?? '24h', target: participantId, project: projectId } }
  }),
]
