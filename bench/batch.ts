import { createServer } from 'node:http'
import pg from 'pg'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { Unit } from '#lib/domains/knowledge/contract.ts'
import { prepareUnit } from '#lib/domains/knowledge/contribution.ts'
import { createApiServer } from '#lib/http/api-server.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { type BenchInstallation, registerBenchAgent, startCluster } from './installation.ts'
import { type BenchRow, shareRow } from './row.ts'
import { sampleUnits } from './samples.ts'
import { withScope } from './scope.ts'

const SIZE = 100
const ROUNDS = 40
const WARM_UP = 8
const columns = 13

/** The API in this process without pages. Requests pass through HTTP, token, limit and pipeline as in production. */
async function serve(scope: AsyncDisposableStack, { env }: BenchInstallation): Promise<string> {
  const app = createApp({ env: readEnv({ ...env, NODE_ENV: 'production' }) })
  scope.defer(() => app.close())
  const apiServer = createApiServer(app, async (_request, response) => void response.writeHead(404).end())
  const server = createServer((request, response) => void apiServer(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  scope.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return `http://127.0.0.1:${address.port}`
}

/** One INSERT of the same number of rows, with values as parameters. */
const insertPlainly = `INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, visibility, domain, document, quality_score, search, created_at, updated_at, version)
  VALUES ${Array.from({ length: SIZE }, (_, row) => `(${Array.from({ length: columns }, (_, column) => `$${row * columns + column + 1}`).join(', ')})`).join(', ')}`

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/**
 * A batch of real units through HTTP, sanitizer, tokenizer, reputation and audit, compared with one plain INSERT of
 * the same rows, in turns.
 */
export const run = (): Promise<BenchRow[]> => withScope(measureAll)

async function measureAll(scope: AsyncDisposableStack): Promise<BenchRow[]> {
  const installation = await (await startCluster(scope)).open('kp')
  const url = await serve(scope, installation)
  const agent = await registerBenchAgent(url, installation)
  const client = new pg.Client(installation.appUrl)
  await client.connect()
  scope.defer(() => client.end())
  const { rows } = await client.query('SELECT organisation_id FROM agents WHERE id = $1', [agent.id])

  const { units, what } = sampleUnits()
  const chosen = Array.from({ length: SIZE }, (_, n) => units[n % units.length])
  // The client's own work is done before the measurement.
  const body = Buffer.from(JSON.stringify({ units: chosen }))
  const prepared = chosen.map((unit) => prepareUnit(Unit.parse(unit), { author: agent.id, strict: false }))
  const values = () => {
    const now = new Date()
    return prepared.flatMap((unit) => {
      const id = `kp:trace:${newUuid().replaceAll('-', '')}`
      const document = JSON.stringify({ ...unit.document, id })
      const { type, author, attributedTo, visibility, domain, quality, search } = unit
      return [
        id,
        type,
        author,
        rows[0].organisation_id,
        attributedTo,
        visibility,
        domain,
        document,
        quality,
        search,
        now,
        now,
        1,
      ]
    })
  }
  const plainly = async () => {
    const given = values()
    return timed(() => client.query({ name: 'plain', text: insertPlainly, values: given }))
  }
  const ours = () =>
    timed(async () => {
      const headers = { Authorization: `Bearer ${agent.token}`, 'Content-Type': 'application/json' }
      const response = await fetch(`${url}/v1/knowledge/batch`, { method: 'POST', headers, body })
      const told = await response.text()
      if (response.status !== 200 || JSON.parse(told).stored !== SIZE) throw new Error(`a batch was answered ${told}`)
    })
  const times = { plain: [] as number[], ours: [] as number[] }
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const [plain, batch] = [await plainly(), await ours()]
    if (round < 0) continue
    times.plain.push(plain)
    times.ours.push(batch)
  }
  // All rounds together, because the index defers work that a later round then does.
  const rate = (milliseconds: number[]) =>
    (SIZE * 1000 * milliseconds.length) / milliseconds.reduce((sum, one) => sum + one, 0)
  return [
    {
      ...shareRow(
        `POST /v1/knowledge/batch: ${SIZE} units (${what}, ${Math.round(body.length / SIZE / 1024)} KiB each)`,
        [rate(times.ours)],
        { name: 'SQL: one INSERT of the same rows', values: [rate(times.plain)] },
        0.5,
      ),
      unit: 'units/s',
    },
  ]
}
