import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { chunked, countRemaining, holding } from '#lib/stores/postgres/legal-hold-rows.ts'

const ofSubject = `(kind = 'account' AND id = $1) OR (kind = 'agent' AND id = ANY($2::text[]))`

/** Erased early: without the key, events cannot be linked to a subject. */
export const telemetryKeyDataSource = (db: Database): DataSource => ({
  name: 'telemetry.keys',
  store: 'postgresql',
  stage: 'derived',
  what: 'keys of the marks under which events of use were sent; without them the events are nobody’s',
  purpose: 'to count how the service is used without knowing by whom',
  basis: 'legitimate interest (GDPR art. 6(1)(f)): to know what it is used for; you may object',
  kept: 'for 30 days, then it is destroyed and another one takes its place',
  tables: ['telemetry_keys'],
  inventory: ({ account, agents }) =>
    holding(
      db,
      'telemetry-held',
      `SELECT count(*)::int AS n, min(created_at) AS since, max(expires_at) AS until FROM telemetry_keys WHERE ${ofSubject}`,
      [account, agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const rows = await queryWithin<{ item: string }>(
      tx,
      'plan-telemetry',
      `SELECT kind || ':' || id AS item FROM telemetry_keys WHERE ${ofSubject}`,
      [scope.subject.account, scope.subject.agents],
    )
    return { items: rows.map(({ item }) => item).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    const text = `DELETE FROM telemetry_keys WHERE (kind, id) IN (SELECT split_part(item, ':', 1), substr(item, strpos(item, ':') + 1) FROM unnest($1::text[]) AS item) RETURNING 1`
    return (await queryWithin(tx, 'erase-telemetry', text, [items])).length
  },
  residue: (scope, items) =>
    'subject' in scope
      ? countRemaining(db, async (ask) => {
          const { account, agents } = scope.subject
          await ask(`SELECT count(*)::int AS n FROM telemetry_keys WHERE ${ofSubject}`, [account, agents])
          for (const chunk of chunked(items))
            await ask(
              `SELECT count(*)::int AS n FROM telemetry_keys WHERE kind || ':' || id = ANY($3::text[]) AND NOT coalesce(${ofSubject}, false)`,
              [account, agents, chunk],
            )
        })
      : Promise.resolve(0),
})
