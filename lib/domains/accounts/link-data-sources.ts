import type { DataSource, ErasureScope, Holding } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endedLinkRetention } from './rules.ts'

const accountOf = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)
const nothing: Holding = { count: 0, since: null, until: null }

/** An item is the link's hash in hexadecimal. The code of a link is not stored. */
export const linkDataSource = (db: Database): DataSource => ({
  name: 'accounts.links',
  store: 'postgresql',
  stage: 'account',
  what: 'links to choose a password: hashes, and when they were sent and used',
  purpose: 'to let a person choose a password by a letter, once',
  kept: 'an hour after a link’s end; it ends 7 days after an invitation, an hour after a reset was asked for, or when it is used',
  tables: ['account_links'],
  async inventory({ account }) {
    if (account === null) return nothing
    const [row] = await db.query<{ n: number; since: Date | null; until: Date | null }>(
      'account-links-inventory',
      'SELECT count(*)::int AS n, min(created_at) AS since, max(coalesce(used_at, expires_at)) AS until FROM account_links WHERE account_id = $1',
      [account],
    )
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.until ? new Date(row.until.getTime() + endedLinkRetention) : null,
    }
  },
  async plan(scope, tx) {
    const accountId = accountOf(scope)
    if (accountId === null) return { items: [], held: {} }
    const records = await tx.accountLink.findMany({ where: { accountId }, select: { codeHash: true } })
    return { items: records.map(({ codeHash }) => Buffer.from(codeHash).toString('hex')).sort(), held: {} }
  },
  erase: async (_scope, items, tx) =>
    (
      await tx.accountLink.deleteMany({
        where: { codeHash: { in: items.map((item) => new Uint8Array(Buffer.from(item, 'hex'))) } },
      })
    ).count,
  async residue(scope, items) {
    const account = accountOf(scope)
    if (account === null) return 0
    const [row] = await db.query<{ n: number }>(
      'account-links-residue',
      `SELECT ((SELECT count(*) FROM account_links WHERE account_id = $1)
        + (SELECT count(*) FROM account_links WHERE code_hash IN (SELECT decode(item, 'hex') FROM unnest($2::text[]) AS i(item)) AND account_id <> $1))::int AS n`,
      [account, items],
    )
    return row?.n ?? 0
  },
})

/** The item is the account id, so that the provider's subject is in no plan and no ledger. */
export const identityDataSource = (db: Database): DataSource => ({
  name: 'accounts.identities',
  store: 'postgresql',
  stage: 'account',
  what: 'by what an identity provider knows the person: its address, and the name that it gave them',
  purpose: 'to sign in with an identity provider',
  kept: 'until the person is erased; one that was unlinked too, so that it is not linked again',
  tables: ['account_identities'],
  async inventory({ account }) {
    if (account === null) return nothing
    const [row] = await db.query<{ n: number; since: Date | null }>(
      'identities-inventory',
      'SELECT count(*)::int AS n, min(linked_at) AS since FROM account_identities WHERE account_id = $1',
      [account],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    const accountId = accountOf(scope)
    const isLinked = accountId !== null && (await tx.accountIdentity.count({ where: { accountId } })) > 0
    return { items: isLinked ? [accountId] : [], held: {} }
  },
  async erase(_scope, items, tx) {
    const gone = await tx.$queryRaw<{ account_id: string }[]>`
      DELETE FROM account_identities WHERE account_id = ANY(${[...items]}::text[]) RETURNING account_id`
    return new Set(gone.map(({ account_id }) => account_id)).size
  },
  async residue(scope, items) {
    const account = accountOf(scope)
    if (account === null) return 0
    const [row] = await db.query<{ n: number }>(
      'identities-residue',
      'SELECT count(*)::int AS n FROM account_identities WHERE account_id = $1 OR account_id = ANY($2::text[])',
      [account, items],
    )
    return row?.n ?? 0
  },
})
