import type { DataSource, ErasureScope, Holding } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endedSessionRetention, signInPlaceRemembered } from './rules.ts'
import { dropOrganisationIfEmpty } from './service.ts'

const accountOf = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)
const nothing: Holding = { count: 0, since: null, until: null }
const after = (at: Date | null, kept: number) => at && new Date(at.getTime() + kept)

export const sessionDataSource = (db: Database): DataSource => ({
  name: 'accounts.sessions',
  store: 'postgresql',
  stage: 'account',
  what: 'sessions: when they began and were last seen, and what the browser called itself',
  purpose: 'to stay signed in, and to see and end one’s own sessions',
  kept: '8 hours from sign-in, and a day after a session’s end',
  tables: ['sessions'],
  async inventory({ account }) {
    if (account === null) return nothing
    const [row] = await db.query<{ n: number; since: Date | null; until: Date | null }>(
      'sessions-inventory',
      'SELECT count(*)::int AS n, min(created_at) AS since, max(coalesce(revoked_at, expires_at)) AS until FROM sessions WHERE account_id = $1',
      [account],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: after(row?.until ?? null, endedSessionRetention) }
  },
  async plan(scope, tx) {
    const accountId = accountOf(scope)
    if (accountId === null) return { items: [], held: {} }
    const records = await tx.session.findMany({ where: { accountId }, select: { id: true } })
    return { items: records.map(({ id }) => id).sort(), held: {} }
  },
  erase: async (_scope, items, tx) => (await tx.session.deleteMany({ where: { id: { in: [...items] } } })).count,
  async residue(scope, items) {
    const account = accountOf(scope)
    if (account === null) return 0
    const [row] = await db.query<{ n: number }>(
      'sessions-residue',
      `SELECT ((SELECT count(*) FROM sessions WHERE account_id = $1)
        + (SELECT count(*) FROM sessions WHERE id = ANY($2::text[]) AND account_id <> $1))::int AS n`,
      [account, items],
    )
    return row?.n ?? 0
  },
})

/** An item is a mark in hexadecimal: a keyed hash that reveals neither address nor network. */
export const signInDataSource = (db: Database): DataSource => ({
  name: 'accounts.sign-ins',
  store: 'postgresql',
  stage: 'account',
  what: 'keyed hashes of the networks that an account signed in from',
  purpose: 'to let a person sign in while somebody else guesses at their password',
  kept: '30 days from the last sign-in',
  tables: ['known_sign_ins'],
  async inventory({ account }) {
    if (account === null) return nothing
    const [row] = await db.query<{ n: number; since: Date | null; until: Date | null }>(
      'sign-ins-inventory',
      'SELECT count(*)::int AS n, min(last_at) AS since, max(last_at) AS until FROM known_sign_ins WHERE account_id = $1',
      [account],
    )
    return { count: row?.n ?? 0, since: row?.since ?? null, until: after(row?.until ?? null, signInPlaceRemembered) }
  },
  async plan(scope, tx) {
    const accountId = accountOf(scope)
    if (accountId === null) return { items: [], held: {} }
    const records = await tx.knownSignIn.findMany({ where: { accountId }, select: { mark: true } })
    return { items: records.map(({ mark }) => Buffer.from(mark).toString('hex')).sort(), held: {} }
  },
  erase: async (_scope, items, tx) =>
    (
      await tx.knownSignIn.deleteMany({
        where: { mark: { in: items.map((item) => new Uint8Array(Buffer.from(item, 'hex'))) } },
      })
    ).count,
  async residue(scope, items) {
    const account = accountOf(scope)
    if (account === null) return 0
    const [row] = await db.query<{ n: number }>(
      'sign-ins-residue',
      `SELECT ((SELECT count(*) FROM known_sign_ins WHERE account_id = $1)
        + (SELECT count(*) FROM known_sign_ins WHERE mark IN (SELECT decode(item, 'hex') FROM unnest($2::text[]) AS i(item)) AND account_id <> $1))::int AS n`,
      [account, items],
    )
    return row?.n ?? 0
  },
})

/** Erased last: the account, and its organisation if it becomes empty. Held agents remain without an owner. */
export const accountDataSource = (db: Database): DataSource => ({
  name: 'accounts',
  store: 'postgresql',
  stage: 'account',
  what: 'the account: name, e-mail address, role, language, hash of the password; the organisation that nobody else belongs to',
  purpose: 'to sign in, to be reached, and to answer for one’s agents',
  kept: 'until the person is erased; of who was invited and never came, 30 days from the last letter',
  tables: ['accounts', 'organisations'],
  async inventory({ account }) {
    if (account === null) return nothing
    const [row] = await db.query<{ since: Date }>(
      'accounts-inventory',
      'SELECT created_at AS since FROM accounts WHERE id = $1',
      [account],
    )
    return row ? { count: 1, since: row.since, until: null } : nothing
  },
  async plan(scope, tx) {
    const id = accountOf(scope)
    return { items: id !== null && (await tx.account.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(_scope, items, tx) {
    const ids = [...items]
    await tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ANY(${ids}::text[]) ORDER BY id FOR UPDATE`
    // The foreign key clears the owner of remaining agents.
    const gone = await tx.$queryRaw<{ organisation_id: string }[]>`
      DELETE FROM accounts WHERE id = ANY(${ids}::text[]) RETURNING organisation_id`
    for (const id of [...new Set(gone.map(({ organisation_id }) => organisation_id))].sort())
      await dropOrganisationIfEmpty(tx, id)
    return gone.length
  },
  /** Searches for the row and for references to it. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const ids = [...new Set([...items, ...(scope.subject.account === null ? [] : [scope.subject.account])])]
    const [row] = await db.query<{ n: number }>(
      'accounts-residue',
      `SELECT ((SELECT count(*) FROM accounts WHERE id = ANY($1::text[]))
        + (SELECT count(*) FROM agent_owners WHERE owner_id = ANY($1::text[]))
        + (SELECT count(*) FROM sessions WHERE account_id = ANY($1::text[])))::int AS n`,
      [ids],
    )
    return row?.n ?? 0
  },
})
