import { randomBytes } from 'node:crypto'
import { expect, inject, it } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { localMigrations } from '#lib/stores/postgres/migration-history.ts'
import { sop, trace } from '#lib/testing/units.ts'

it('SOPs stored before versions existed become their own first version', async () => {
  const { ownerUrl } = inject('template')
  const at = (database: string) => Object.assign(new URL(ownerUrl), { pathname: `/${database}` }).href
  const name = `test_${randomBytes(6).toString('hex')}`
  const asAdmin = (sql: string) => withConnection(at('postgres'), (client) => client.query(sql))
  await asAdmin(`CREATE DATABASE ${name} TEMPLATE template0`)
  try {
    await withConnection(at(name), async (client) => {
      const [before, ...later] = localMigrations()
      await client.query(before?.sql ?? '')
      await client.query(`INSERT INTO organisations (id, name, created_at) VALUES ('org', 'Test', now());
        INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at)
        VALUES ('agent', 'org', 'consent', '1', now())`)
      for (const unit of [sop({ id: 'kp:sop:old' }), trace({ id: 'kp:trace:old' })])
        await client.query(
          `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, quality_score, created_at, updated_at)
           VALUES ($1, $2::unit_type, 'agent', 'org', 'network', $3, 0.5, '2026-01-01', '2026-01-02')`,
          [unit.id, unit['@type'], JSON.stringify(unit)],
        )
      for (const { sql } of later) await client.query(sql)
      const { rows } = await client.query(
        'SELECT v.unit_id, v.version, v.created_by, v.created_at = u.created_at AS since, v.document = u.document AS same FROM sop_versions v JOIN units u ON u.id = v.unit_id',
      )
      expect(rows).toEqual([{ unit_id: 'kp:sop:old', version: 1, created_by: 'agent', since: true, same: true }])
    })
  } finally {
    await asAdmin(`DROP DATABASE ${name} WITH (FORCE)`)
  }
})
