import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Holding } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAccount } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { endSessions } from './account-status.ts'
import {
  accountCreation,
  countAccountResidue,
  countIdentities,
  deleteAccounts,
  deleteIdentities,
  emailChoiceRows,
  factorRows,
  inventoryOfIdentities,
  linkRows,
  lockAccountRows,
  lockedAddress,
  readNoticeRows,
  recoveryCodeRows,
  sessionRows,
  signInRows,
} from './repository.ts'
import { endedLinkRetention, endedSessionRetention, signInPlaceRemembered } from './rules.ts'
import { dropOrganisationIfEmpty } from './writes.ts'

const accountOf = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)
const nothing: Holding = { count: 0, since: null, until: null }

export const sessionDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.sessions',
    what: 'sessions: start, last activity, how you signed in, and the browser’s name',
    purpose: 'to keep you signed in, and to let you see and end your sessions',
    kept: 'until one day after the session ends; a session lasts at most 8 hours',
    rows: sessionRows,
    retention: endedSessionRetention,
  })

/** An item is a mark in hexadecimal: a keyed hash that reveals neither address nor network. */
export const signInDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.sign-ins',
    what: 'keyed hashes of the networks from which an account signed in',
    purpose: 'to let a person sign in while somebody else is guessing their password',
    kept: '30 days after the last sign-in',
    rows: signInRows,
    retention: signInPlaceRemembered,
  })

/** An item is the link's hash in hexadecimal. The code of a link is not stored. */
export const linkDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.links',
    what: 'links to choose a password: hashes, and the times of sending and use',
    purpose: 'to let a person choose a password through an emailed link',
    kept: 'one hour after the link ends. A link ends when it is used, 7 days after an invitation, or one hour after a reset was requested',
    rows: linkRows,
    retention: endedLinkRetention,
  })

export const factorDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.factors',
    what: 'second factors of the sign-in: the public keys of passkeys, the sealed secrets of authenticator apps, their names and times',
    purpose: 'to protect the account when its password is known to others',
    kept: 'until they are removed or the person is erased',
    rows: factorRows,
  })

/** An item is the code's hash in hexadecimal. The codes are not stored. */
export const recoveryCodeDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.recovery-codes',
    what: 'hashes of recovery codes, and when they were used',
    purpose: 'to let a person sign in who has lost every second factor',
    kept: 'until they are replaced, the last second factor is removed or the person is erased',
    rows: recoveryCodeRows,
  })

export const emailChoiceDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.email-choices',
    what: 'which emails the person turned off or gets daily',
    purpose: 'to send only the emails that a person wants',
    kept: 'until the person is erased',
    rows: emailChoiceRows,
  })

export const readNoticeDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'accounts.read-notices',
    what: 'which notifications of the console the person has read: their kinds and ids',
    purpose: 'to show only new notifications as new, on every device',
    kept: 'until the matter is settled and another notification is read, or the person is erased',
    rows: readNoticeRows,
  })

/** The item is the account id, so that the provider's subject is in no plan and no ledger. */
export const identityDataSource = (db: Database): DataSource => ({
  name: 'accounts.identities',
  store: 'postgresql',
  stage: 'account',
  what: 'identity provider sign-ins: the provider’s address and its identifier for the person',
  purpose: 'to sign in with an identity provider',
  kept: 'until the person is erased. Unlinked sign-ins are also kept, so that they are not linked again',
  tables: ['account_identities'],
  async inventory({ account }) {
    const [row] = account === null ? [] : await inventoryOfIdentities(db, { account })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
  },
  async plan(scope, tx) {
    const accountId = accountOf(scope)
    const isLinked = accountId !== null && (await tx.accountIdentity.count({ where: { accountId } })) > 0
    return { items: isLinked ? [accountId] : [], held: {} }
  },
  async erase(_scope, items, tx) {
    const deleted = await deleteIdentities(tx, { accounts: items })
    return new Set(deleted.map(({ account_id }) => account_id)).size
  },
  async residue(scope, items) {
    const account = accountOf(scope)
    const [row] = account === null ? [] : await countIdentities(db, { accounts: [account, ...items] })
    return row?.n ?? 0
  },
})

/**
 * Erased last: the account, and its organization if it becomes empty. Held agents remain without an owner. The person's tokens with scope
 * `admin` for agents of others end.
 */
export const accountDataSource = (
  db: Database,
  revokeAdminTokens: (tx: Transaction, accountId: string) => Promise<unknown>,
): DataSource => ({
  name: 'accounts',
  store: 'postgresql',
  stage: 'account',
  what: 'the account: name, email address, role, language and password hash; also the organization if nobody else belongs to it',
  purpose: 'to let the person sign in, receive emails and manage their agents',
  kept: 'until the person is erased. If an invited person never joined: 30 days after the last invitation email',
  tables: ['accounts', 'organisations'],
  async inventory({ account }) {
    const [row] = account === null ? [] : await accountCreation(db, { id: account })
    return row ? { count: 1, since: row.since, until: null } : nothing
  },
  async plan(scope, tx) {
    const id = accountOf(scope)
    return { items: id !== null && (await tx.account.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(_scope, ids, tx) {
    await lockAccountRows(tx, { ids })
    for (const id of ids) await revokeAdminTokens(tx, id)
    const deleted = await deleteAccounts(tx, { ids })
    for (const id of [...new Set(deleted.map(({ organisation_id }) => organisation_id))].sort())
      await dropOrganisationIfEmpty(tx, id)
    return deleted.length
  },
  /** Searches for the row and for references to it. */
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const ids = [...new Set([...items, ...(scope.subject.account === null ? [] : [scope.subject.account])])]
    const [row] = await countAccountResidue(db, { ids })
    return row?.n ?? 0
  },
})

/** Exports the account without the password. */
const account = (db: Database): PersonExporter => ({
  part: 'account',
  bases: ['provided', 'all'],
  tables: ['accounts', 'organisations'],
  pages: (accountId, { basis }) =>
    recordPages(db, {
      from: 'accounts a JOIN organisations o ON o.id = a.organisation_id',
      where: 'a.id = $1',
      values: [accountId],
      at: 'a.created_at',
      id: 'a.id',
      columns: 'a.*, o.name AS organisation',
      record: jsonObject({
        account_id: 'c.id',
        email: 'coalesce(c.invited_email, c.email)',
        name: 'c.name',
        locale: 'c.locale',
        created_at: utc('c.created_at'),
        ...(basis === 'all' && {
          organisation_id: 'c.organisation_id',
          organisation: 'c.organisation',
          role: 'c.role',
          must_change_password: 'c.must_change_password',
          restricted_at: utc('c.restricted_at'),
          restricted_for: 'c.restricted_for',
          telemetry_off_at: utc('c.telemetry_off_at'),
          suspended_at: utc('c.suspended_at'),
          deactivated_at: utc('c.deactivated_at'),
          second_factor_reminded_at: utc('c.factor_reminded_at'),
          has_password: 'c.password_hash IS NOT NULL',
          updated_at: utc('c.updated_at'),
        }),
      }),
    }),
})

const sessions = (db: Database): PersonExporter => ({
  part: 'sessions',
  bases: ['all'],
  tables: ['sessions'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'sessions s',
      where: 's.account_id = $1 AND s.created_at <= $2',
      values: [accountId, until],
      at: 's.created_at',
      id: 's.id',
      columns: 's.*',
      record: jsonObject({
        session_id: 'c.id',
        browser: 'c.user_agent',
        created_at: utc('c.created_at'),
        last_seen_at: utc('c.last_seen_at'),
        expires_at: utc('c.expires_at'),
        revoked_at: utc('c.revoked_at'),
        signed_in_with: 'c.signed_in_with',
      }),
    }),
})

const identities = (db: Database): PersonExporter => ({
  part: 'account_identities',
  bases: ['provided', 'all'],
  tables: ['account_identities'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'account_identities i',
      where: 'i.account_id = $1 AND i.linked_at <= $2',
      values: [accountId, until],
      at: 'i.linked_at',
      id: "i.issuer || ' ' || i.subject",
      columns: 'i.*',
      record: jsonObject({
        issuer: 'c.issuer',
        subject: 'c.subject',
        linked_at: utc('c.linked_at'),
        unlinked_at: utc('c.unlinked_at'),
      }),
    }),
})

const links = (db: Database): PersonExporter => ({
  part: 'account_links',
  bases: ['all'],
  tables: ['account_links'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'account_links l',
      where: 'l.account_id = $1 AND l.created_at <= $2',
      values: [accountId, until],
      at: 'l.created_at',
      id: "encode(l.code_hash, 'hex')",
      columns: 'l.*',
      // The hash is omitted: a link that still works must be usable only from the mailbox.
      record: jsonObject({
        purpose: 'c.purpose',
        created_at: utc('c.created_at'),
        expires_at: utc('c.expires_at'),
        used_at: utc('c.used_at'),
      }),
    }),
})

const knownSignIns = (db: Database): PersonExporter => ({
  part: 'known_sign_ins',
  bases: ['all'],
  tables: ['known_sign_ins'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'known_sign_ins k',
      where: 'k.account_id = $1 AND k.last_at <= $2',
      values: [accountId, until],
      at: 'k.last_at',
      id: "encode(k.mark, 'hex')",
      columns: 'k.mark, k.last_at',
      // A keyed hash that reveals neither address nor network.
      record: jsonObject({ mark: "encode(c.mark, 'hex')", last_at: utc('c.last_at') }),
    }),
})

const factors = (db: Database): PersonExporter => ({
  part: 'second_factors',
  bases: ['provided', 'all'],
  tables: ['account_factors'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'account_factors f',
      where: 'f.account_id = $1 AND f.created_at <= $2',
      values: [accountId, until],
      at: 'f.created_at',
      id: 'f.id',
      columns: 'f.*',
      // The secret of an app is omitted: a copy of the export must not be able to produce codes.
      record: jsonObject({
        factor_id: 'c.id',
        kind: 'c.kind',
        name: 'c.name',
        created_at: utc('c.created_at'),
        confirmed_at: utc('c.confirmed_at'),
        last_used_at: utc('c.last_used_at'),
        credential_id: "encode(c.credential_id, 'hex')",
        public_key: "encode(c.public_key, 'hex')",
        transports: 'c.transports',
      }),
    }),
})

const recoveryCodes = (db: Database): PersonExporter => ({
  part: 'recovery_codes',
  bases: ['all'],
  tables: ['account_recovery_codes'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'account_recovery_codes r',
      where: 'r.account_id = $1 AND r.created_at <= $2',
      values: [accountId, until],
      at: 'r.created_at',
      id: "encode(r.code_hash, 'hex')",
      columns: 'r.*',
      record: jsonObject({ created_at: utc('c.created_at'), used_at: utc('c.used_at') }),
    }),
})

const emailChoices = (db: Database): PersonExporter => ({
  part: 'email_choices',
  bases: ['provided', 'all'],
  tables: ['email_choices'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'email_choices e',
      where: 'e.account_id = $1 AND e.updated_at <= $2',
      values: [accountId, until],
      at: 'e.updated_at',
      id: 'e.id',
      columns: 'e.*',
      record: jsonObject({ kind: 'c.kind', delivery: 'c.delivery', updated_at: utc('c.updated_at') }),
    }),
})

const readNotices = (db: Database): PersonExporter => ({
  part: 'read_notices',
  bases: ['all'],
  tables: ['read_notices'],
  pages: (accountId, { until }) =>
    recordPages(db, {
      from: 'read_notices n',
      where: 'n.account_id = $1 AND n.read_at <= $2',
      values: [accountId, until],
      at: 'n.read_at',
      id: 'n.id',
      columns: 'n.*',
      record: jsonObject({ notice: 'c.notice', read_at: utc('c.read_at') }),
    }),
})

/** Exports the person's account without the password, and their sessions, identities, links, second factors and sign-in marks. */
export const accountExporters = (db: Database): PersonExporter[] => [
  account(db),
  sessions(db),
  identities(db),
  links(db),
  factors(db),
  recoveryCodes(db),
  emailChoices(db),
  readNotices(db),
  knownSignIns(db),
]

/** Locks the account exclusively and ends its sessions. Returns the stored email address; null without an account. */
export async function raiseAccountFence(tx: Transaction, accountId: string, now: Date): Promise<string | null> {
  const [row] = await lockedAddress(tx, { id: accountId })
  if (!row) return null
  await endSessions(tx, accountId, now)
  return row.email
}
