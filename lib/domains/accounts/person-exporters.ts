import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

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

/** Exports the person's account without the password, and their sessions, identities, links, second factors and sign-in marks. */
export const accountExporters = (db: Database): PersonExporter[] => [
  account(db),
  sessions(db),
  identities(db),
  links(db),
  factors(db),
  recoveryCodes(db),
  emailChoices(db),
  knownSignIns(db),
]
