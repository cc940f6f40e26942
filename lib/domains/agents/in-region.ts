import type { DatabaseQuery } from '#lib/kernel/evidence.ts'

const required = 'region IS NOT NULL AND NOT region = ANY($1::text[])'

/** Counts the agents whose data must stay in a region other than the given ones. */
export async function agentsInRegions(query: DatabaseQuery, except: readonly string[]): Promise<number> {
  const [row] = await query<{ agents: number }>(`SELECT count(*)::int AS agents FROM agents WHERE ${required}`, [
    except,
  ])
  return row?.agents ?? 0
}

/** Returns ids of the oldest such agents, `most` at most. */
export async function agentIdsInRegions(
  query: DatabaseQuery,
  except: readonly string[],
  most: number,
): Promise<string[]> {
  const text = `SELECT id FROM agents WHERE ${required} ORDER BY created_at, id LIMIT $2`
  return (await query<{ id: string }>(text, [except, most])).map(({ id }) => id)
}
