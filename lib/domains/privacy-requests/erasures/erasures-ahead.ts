import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import type { ErasuresAhead } from '#lib/domains/privacy-requests/rules.ts'
import { erasuresOfPerson } from './repository.ts'

/** Read for every page of the console, without an audit entry. */
export const erasuresAhead = ({ db, graceTokens }: Pick<PrivacyDeps, 'db' | 'graceTokens'>) => ({
  async erasuresAhead(accountId: string): Promise<ErasuresAhead> {
    const rows = await erasuresOfPerson(db, { account: accountId })
    return {
      total: rows[0]?.total ?? 0,
      shown: rows.map((row) => ({
        requestId: row.id,
        agent: row.agent,
        state: row.is_running ? 'running' : row.is_paused ? 'paused' : row.is_blocked ? 'blocked' : 'waiting',
        grace: row.from && row.until && { from: row.from.toISOString(), until: row.until.toISOString() },
        waitsForCopy: row.waits_for_copy,
        isMixed: row.is_mixed,
        areTokensStopped: graceTokens === 'stop',
      })),
    }
  },
})
