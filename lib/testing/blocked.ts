import type pg from 'pg'
import { vi } from 'vitest'

/** Waits until somebody waits for what this connection has locked: the process id of their backend. */
export const blockedBy = (client: pg.ClientBase): Promise<number> =>
  vi.waitUntil(
    async () => {
      const { rows } = await client.query<{ pid: number }>(
        'SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))',
      )
      return rows[0]?.pid
    },
    { timeout: 120_000, interval: 20 },
  )
