import { Agent as HttpAgent } from 'node:http'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { signInForVisit } from '../bin/demo/visits.ts'
import { planted, seedCorpus } from './corpus.ts'
import { type BenchInstallation, startCluster } from './installation.ts'
import { percentile, timeRequest } from './latency.ts'
import type { LoadTarget } from './load.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'

const RECORDS = 100_000
const MOST = 100
const ROUNDS = 40
const admin = { email: 'admin@example.org', password: 'a password for the measurement' }
const asked = [
  { name: 'a rare name', q: 'person 77777' },
  { name: 'a part of every name', q: 'person' },
  { name: 'two letters', q: 'ag' },
  { name: 'an id', q: `agent-${RECORDS - 1}` },
  { name: 'a word of the knowledge', q: planted.rare },
  { name: 'nothing', q: 'zzzzzz' },
] as const

/** 100,000 people with an agent each, 100,000 units and a fifth as many projects. */
async function fill({ ownerUrl }: BenchInstallation): Promise<void> {
  await withConnection(ownerUrl, async (owner) => {
    await seedCorpus(owner, RECORDS)
    await owner.query(
      `INSERT INTO accounts (id, organisation_id, email, name, role, created_at, updated_at)
       SELECT 'usr_' || n, 'corpus-org-' || n % 20, 'p' || n || '@example.org', 'Person ' || n, 'person', now(), now() FROM generate_series(1, $1::int) AS n`,
      [RECORDS],
    )
    await owner.query(
      `INSERT INTO agents (id, organisation_id, owner_id, name, lawful_basis, notice_version, created_at)
       SELECT 'agent-' || n, 'corpus-org-' || n % 20, 'usr_' || n, 'Agent of ' || n, 'contract', 'corpus', now() FROM generate_series(1, $1::int) AS n`,
      [RECORDS],
    )
    await owner.query(
      `INSERT INTO projects (id, organisation_id, name, group_id, entity_kinds, created_by, created_at, updated_at)
       SELECT 'prj_' || n, 'corpus-org-' || n % 20, 'Project ' || n, 'group-' || n, '{}', 'user:usr_' || n, now(), now() FROM generate_series(1, $1::int) AS n`,
      [RECORDS / 5],
    )
    await owner.query('VACUUM (ANALYZE) accounts, agents, projects, units')
  })
}

/** The search of the command palette by an admin, through the API server. */
export const run = (): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    await buildPages()
    const installation = await (await startCluster(scope)).open('console_search')
    await fill(installation)
    const settings = readEnv({ NODE_ENV: 'production', ...installation.env })
    const app = createApp({ env: settings })
    scope.defer(() => app.close())
    await app.db.transaction(async (tx) => {
      const now = new Date()
      const organisationId = await createOrganisation(tx, 'Bench', now)
      await createAccount(tx, {
        ...admin,
        organisationId,
        name: 'Admin',
        role: 'admin',
        mustChangePassword: false,
        now,
      })
    })
    const visit = { address: '192.0.2.1', locale: 'en' } as const
    const { cookie } = await signInForVisit(app, settings.KP_SECRET ?? '', { ...admin, ...visit })
    const { url } = await startApiServer(scope, installation.env)
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
    scope.defer(async () => agent.destroy())
    const rows: BenchRow[] = []
    for (const { name, q } of asked) {
      const target: LoadTarget = {
        url: `${url}/api/search?q=${encodeURIComponent(q)}`,
        method: 'GET',
        headers: { Cookie: cookie },
        status: 200,
      }
      const taken: number[] = []
      for (let round = 0; round < ROUNDS + 5; round++) {
        const milliseconds = await timeRequest(agent, target)
        if (round >= 5) taken.push(milliseconds)
      }
      const p95 = percentile(taken, 0.95)
      const title = `palette, ${RECORDS.toLocaleString('en')} people, agents and units: ${name}`
      rows.push(
        { name: `${title}, p95`, value: p95, unit: 'ms', bar: `under ${MOST} ms`, met: p95 < MOST },
        { name: `${title}, median`, value: median(taken), unit: 'ms' },
      )
    }
    return rows
  })
