import { z } from 'zod'
import type { CypherQuery } from './neo4j-connection.ts'

const Count = z.array(z.object({ n: z.number() }))
/** The value `n` of the query's only row. */
export const countOf = async (ask: CypherQuery, text: string, parameters: Record<string, unknown>): Promise<number> =>
  Count.parse(await ask(text, parameters))[0]?.n ?? 0
