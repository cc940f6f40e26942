import type pg from 'pg'
import { vi } from 'vitest'

/** Waits until a backend waits for a lock of this connection, or of the backend with the given process id. Returns its process id. */
export const blockedBy = (client: pg.ClientBase, blocker?: number): Promise<number> =>
  vi.waitUntil(
    async () => {
      const { rows } = await client.query<{ pid: number }>(
        'SELECT pid FROM pg_stat_activity WHERE coalesce($1, pg_backend_pid()) = ANY(pg_blocking_pids(pid))',
        [blocker],
      )
      return rows[0]?.pid
    },
    { timeout: 120_000, interval: 20 },
  )
