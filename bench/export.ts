import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClientBase } from 'pg'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { benchCorpus } from './corpus.ts'
import { type Agent, type BenchInstallation, registerBenchAgent, startCluster } from './installation.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { growthOf, openFolder, secondsOf, startApi, UNITS } from './transfer.ts'

const LEAST = 0.4
const MOST_GROWTH = 64
const ROUNDS = 3

/** Seeds units of one agent, as wide as contributed ones. Without search words, which neither side reads. */
async function seed({ ownerUrl }: BenchInstallation, agent: Agent): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await owner.query('ALTER TABLE units DISABLE TRIGGER USER')
    let batch: object[] = []
    const store = async () => {
      await owner.query(
        `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, created_at, updated_at)
         SELECT s.id, 'ReasoningTrace', a.id, a.organisation_id, (document->'metadata'->>'visibility')::visibility, document, 'code', quality, "createdAt", "createdAt"
         FROM json_to_recordset($1::json) AS s(id text, document jsonb, quality float8, "createdAt" timestamptz), agents a WHERE a.id = $2`,
        [JSON.stringify(batch), agent.id],
      )
      batch = []
    }
    for (const { id, document, quality, createdAt } of benchCorpus(UNITS))
      if (batch.push({ id, document, quality, createdAt }) === 1_000) await store()
    await store()
    await owner.query('ALTER TABLE units ENABLE TRIGGER USER')
    await owner.query('VACUUM (ANALYZE) units')
  })
}

/** The same members of the same rows in the same order, as JSON by PostgreSQL. */
const sameRows = (agentId: string) => `SELECT json_build_object('id', id, 'unit', document, 'visibility', visibility,
    'quality_score', quality_score, 'created_at', created_at, 'updated_at', updated_at)::text AS line
  FROM units WHERE agent_id = '${agentId}' ORDER BY created_at, id`

/** Streams the same rows from PostgreSQL to a file through a cursor in one transaction. */
async function streamPlainly(owner: ClientBase, agentId: string, file: string): Promise<void> {
  await owner.query('BEGIN')
  await owner.query(`DECLARE plain NO SCROLL CURSOR FOR ${sameRows(agentId)}`)
  async function* lines() {
    for (;;) {
      const { rows } = await owner.query<{ line: string }>('FETCH 1000 FROM plain')
      if (rows.length === 0) return
      yield `${rows.map(({ line }) => line).join('\n')}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(file))
  await owner.query('COMMIT')
}

/**
 * Exports one agent's units through HTTP into a file, compared with streaming the same rows as JSON Lines from a
 * cursor. Also measures one COPY, which PostgreSQL writes to a file without a client.
 */
export const run = (): Promise<BenchRow[]> => withScope(measure)

async function measure(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  const folder = await openFolder(scope)
  const installation = await (await startCluster(scope)).open('kp')
  const server = await startApi(scope, installation)
  const agent = await registerBenchAgent(server.url, installation)
  const headers = { Authorization: `Bearer ${agent.token}` }
  const exported = async (format: string): Promise<void> => {
    const response = await fetch(`${server.url}/v1/export/${agent.id}?format=${format}`, { headers })
    if (!response.ok || !response.body) throw new Error(`the export answered ${response.status}`)
    await pipeline(Readable.from(response.body), createWriteStream(join(folder, `export.${format}`)))
  }
  // Warm up, so that the memory of serving is not counted as that of a large export.
  for (let n = 0; n < 20; n++) for (const format of ['json', 'zip']) await exported(format)
  await seed(installation, agent)

  const plain: number[] = []
  const copied: number[] = []
  const ours: Record<string, number[]> = { json: [], ndjson: [], zip: [] }
  const growth: Record<string, number[]> = { json: [], ndjson: [], zip: [] }
  await withConnection(installation.ownerUrl, async (owner) => {
    for (let round = 0; round < ROUNDS; round++) {
      const copy = `COPY (${sameRows(agent.id)}) TO '${join(folder, 'plain')}'`
      copied.push(await secondsOf(() => owner.query(copy)))
      plain.push(await secondsOf(() => streamPlainly(owner, agent.id, join(folder, 'streamed'))))
      for (const format of Object.keys(ours))
        growth[format]?.push(
          (await growthOf(server.pid, async () => ours[format]?.push(await secondsOf(() => exported(format))))).growth,
        )
    }
  })
  const ceiling = { name: 'the same rows from a cursor into a file', value: UNITS / median(plain) }
  const copy: BenchRow = {
    name: `COPY of the same ${UNITS.toLocaleString('en')} rows by PostgreSQL itself`,
    value: UNITS / median(copied),
    unit: 'units/s',
  }
  const rows = Object.entries(ours).flatMap(([format, seconds]) => {
    const value = UNITS / median(seconds)
    const grown = Math.max(...(growth[format] ?? []))
    const name = `export of ${UNITS.toLocaleString('en')} units, ${format}`
    const isBound = format !== 'zip'
    return [
      {
        name,
        value,
        unit: 'units/s',
        ceiling,
        ...(isBound && { bar: `at least ${LEAST} ×`, met: value / ceiling.value >= LEAST }),
      },
      {
        name: '… memory that the process grew by',
        value: grown,
        unit: 'MiB',
        bar: `at most ${MOST_GROWTH}`,
        met: grown <= MOST_GROWTH,
      },
    ]
  })
  return [...rows, copy]
}
