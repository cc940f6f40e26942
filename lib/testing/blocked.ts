import type pg from 'pg'
import { vi } from 'vitest'

/** Waits until a backend waits for a lock of this connection. Returns its process id. */
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
