import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { createHold, releaseHold } from './contract.ts'
import type { HeldIds } from './service.ts'

interface Held {
  kind: string
  targetId: string
  reason: string
  until: Date | null
}

/** Actions that change what erasures and sweeps may delete. */
export function holdApprovables(
  namesOf: (tx: Transaction, ids: HeldIds) => Promise<ReadonlyMap<string, string>>,
): readonly Approvable[] {
  async function described(tx: Transaction, { kind, targetId, reason, until }: Held) {
    const only = (one: string) => (kind === one ? [targetId] : [])
    // Facts of a proposal outlive the record, so they contain no title.
    const ids = { accounts: only('account'), agents: only('agent'), projects: only('project'), records: [] }
    const names = await namesOf(tx, ids)
    return {
      subjects: [...only('account'), ...only('agent')],
      facts: { kind, target: targetId, name: names.get(targetId) ?? null, reason, until: until?.toISOString() ?? null },
    }
  }
  return [
    approvable(createHold, (tx, { body: { kind, target_id: targetId, reason, expires_at: until = null } }) =>
      described(tx, { kind, targetId, reason, until }),
    ),
    approvable(releaseHold, async (tx, { params: { id } }) => {
      const row = await tx.legalHold.findUnique({ where: { id, releasedAt: null } })
      if (!row) throw new Problem('not_found', 'This hold does not exist, or it was released.')
      return described(tx, { ...row, until: row.expiresAt })
    }),
  ]
}
