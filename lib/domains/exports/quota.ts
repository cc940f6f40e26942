import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { dayOf } from './rules.ts'

export interface ExportOrder {
  subjectId: string
  /** Whose quota it counts in; undefined where an admin answers a request. */
  payer: { agentId: string; exportsPerDay: number | null } | undefined
  requestedBy: string
  format: string
  basis: string
  now: Date
}

/**
 * Notes that an export begins. Exact under concurrency: those of one agent wait for each other. Throws `quota_exceeded`, which is no
 * refusal of the rate limiter and revokes nothing.
 */
export async function beginExport(tx: Transaction, order: ExportOrder): Promise<void> {
  const { subjectId, payer, requestedBy, format, basis, now } = order
  if (payer && payer.exportsPerDay !== null) {
    const { start, end } = dayOf(now)
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('export:' || ${payer.agentId}, 0))`
    const used = await tx.exportRun.count({ where: { agentId: payer.agentId, at: { gte: start, lt: end } } })
    if (used >= payer.exportsPerDay)
      throw new Problem('quota_exceeded', {
        detail: `${payer.exportsPerDay.toLocaleString('en')} exports a day are allowed; the next day begins at midnight UTC. Nothing was lost.`,
        headers: { 'Retry-After': String(Math.ceil((end.getTime() - now.getTime()) / 1000)) },
        extensions: { limit: payer.exportsPerDay, used },
      })
  }
  await tx.exportRun.create({
    data: { id: newId('exp'), subjectId, agentId: payer?.agentId ?? null, requestedBy, format, basis, at: now },
  })
}
