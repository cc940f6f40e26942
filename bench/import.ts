import { openAsBlob } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { registerBenchAgent, startCluster } from './installation.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { growthOf, openFolder, secondsOf, startApi, UNITS, writeDocument } from './transfer.ts'

const LEAST = 0.3

/** Columns that a row is given. The others are generated. */
const columnsOf = `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS names FROM pg_attribute
  WHERE attrelid = 'units'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`

const Answer = z.object({ data: z.object({ stored: z.number(), failed: z.number() }) })

/**
 * Imports an export of another registry through HTTP, parser, sanitizer, tokenizer and audit log, compared with one
 * COPY of the resulting rows from a file into the same table of another database, with the same indexes and triggers.
 */
export const run = (): Promise<BenchRow[]> => withScope(measure)

async function measure(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  const folder = await openFolder(scope)
  const cluster = await startCluster(scope)
  const [ours, theirs] = [await cluster.open('ours'), await cluster.open('theirs')]
  const server = await startApi(scope, ours)
  const agent = await registerBenchAgent(server.url, ours)
  const file = join(folder, 'document.json')
  await writeDocument(file, UNITS)
  const body = await openAsBlob(file, { type: 'application/json' })
  const send = async () => {
    const headers = { Authorization: `Bearer ${agent.token}`, 'Content-Type': 'application/json' }
    const response = await fetch(`${server.url}/v1/import`, { method: 'POST', headers, body })
    const { data } = Answer.parse(await response.json())
    // Random words occasionally form a sentence that the sanitizer rejects.
    if (data.stored < 0.999 * UNITS) throw new Error(`${data.stored} of ${UNITS} were stored`)
  }
  let seconds = Number.NaN
  const { growth } = await growthOf(server.pid, async () => {
    seconds = await secondsOf(send)
  })

  const rows = join(folder, 'rows')
  const names = await withConnection(ours.ownerUrl, async (owner) => {
    const found = await owner.query<{ names: string }>(columnsOf)
    const names = found.rows[0]?.names ?? ''
    await owner.query(`COPY (SELECT ${names} FROM units WHERE original_author IS NOT NULL) TO '${rows}'`)
    await owner.query(`COPY (SELECT * FROM organisations) TO '${rows}-organisations'`)
    await owner.query(`COPY (SELECT * FROM agents) TO '${rows}-agents'`)
    return names
  })
  const plain = await withConnection(theirs.ownerUrl, async (owner) => {
    await owner.query(`COPY organisations FROM '${rows}-organisations'`)
    await owner.query(`COPY agents FROM '${rows}-agents'`)
    return secondsOf(() => owner.query(`COPY units (${names}) FROM '${rows}'`))
  })
  const ratio = plain / seconds
  return [
    {
      name: `import of ${UNITS.toLocaleString('en')} units, JSON`,
      value: UNITS / seconds,
      unit: 'units/s',
      ceiling: { name: 'COPY of the same rows from a file', value: UNITS / plain },
      bar: `at least ${LEAST} ×`,
      met: ratio >= LEAST,
    },
    { name: '… memory that the process grew by', value: growth, unit: 'MiB' },
  ]
}
