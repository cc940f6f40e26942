import { sealedPurposes } from '#lib/config/secret.ts'
import { maxNamesCompared } from '#lib/kernel/name-search.ts'
import type { RestrictionReason } from '#lib/kernel/restriction.ts'
import { accountRows } from '#lib/stores/postgres/personal-tables.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import type { EmailDelivery, EmailKind } from './email-choices/rules.ts'
import { type AccountState, accountStates, type PasswordLinkPurpose, type Role } from './rules.ts'
import type { SignInWay } from './second-factors/rules.ts'

/** SQL condition: an identity of the account `a` is linked. */
const hasIdentity = 'EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id AND i.unlinked_at IS NULL)'
/** SQL condition: the account `a` is being erased. */
const isFenced = "EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = a.id)"

/** Locks the account for changes of its password, links, address or status. */
export const lockAccountRow = statement('accounts.lock', {
  takes: { id: 'text' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM accounts WHERE id = $id FOR NO KEY UPDATE',
})

/** Locks the accounts for their deletion, in the lock order. */
export const lockAccountRows = statement('accounts.lock-all', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM accounts WHERE id = ANY($ids) ORDER BY id FOR UPDATE',
})

/** Locks the account exclusively and returns the address at which it receives email. */
export const lockedAddress = statement('accounts.locked-address', {
  takes: { id: 'text' },
  returns: { email: 'text' },
  sql: 'SELECT coalesce(invited_email, email) AS email FROM accounts WHERE id = $id FOR UPDATE',
})

/** Serializes changes of accounts to one address until the end of the transaction. */
export const lockEmail = statement('accounts.lock-email', {
  takes: { email: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('email:' || $email))::text AS lock`,
})

/** The restriction and suspension of an account, locked against changes until the end of the transaction. */
export const lockedStatus = statement('accounts.status', {
  takes: { id: 'text' },
  returns: {
    restrictedAt: 'timestamptz?',
    restrictedFor: typed<RestrictionReason[]>('text[]!'),
    suspendedAt: 'timestamptz?',
  },
  sql: `SELECT restricted_at AS "restrictedAt", restricted_for AS "restrictedFor", suspended_at AS "suspendedAt"
    FROM accounts WHERE id = $id FOR SHARE`,
})

export const fenceOfAccount = statement('accounts.fence', {
  takes: { id: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: "SELECT id FROM fenced WHERE kind = 'account' AND id = $id",
})

/** The account with this address. The hash is null without a password, and when a one-time password has expired. */
export const credentialsOf = statement('accounts.credentials', {
  takes: { email: 'text', now: 'timestamptz' },
  returns: { id: 'text', password_hash: 'text?' },
  isPrepared: true,
  sql: `SELECT id, CASE WHEN password_expires_at IS NULL OR password_expires_at > $now THEN password_hash END AS password_hash
    FROM accounts WHERE email = $email`,
})

/** The account whose id has this hash, and whether its person has never had a way to sign in. */
export const accountMarked = statement('accounts.marked', {
  takes: { mark: 'text' },
  returns: { id: 'text', is_new: 'bool', verified_email: 'text?' },
  isPrepared: true,
  sql: `SELECT id, CASE WHEN a.email_verified_at IS NOT NULL THEN a.email END AS verified_email, (a.password_hash IS NULL AND a.email_verified_at IS NULL
      AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id)
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.account_id = a.id)) AS is_new
    FROM accounts a WHERE left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 16) = $mark`,
})

/** The organization of an account that is not being erased. */
export const organisationOfAccount = statement('accounts.organisation', {
  takes: { id: 'text' },
  returns: { organisation_id: 'text', locale: 'text' },
  isPrepared: true,
  sql: `SELECT organisation_id, locale FROM accounts a WHERE id = $id AND NOT ${isFenced}`,
})

/** SQL condition: the person can sign in. The account is open, is not being erased, and has a password or a linked identity. */
const canSignIn = `(a.deactivated_at IS NULL AND (a.password_hash IS NOT NULL OR ${hasIdentity}) AND NOT ${isFenced})`

/**
 * All admins. `stays`: can sign in and is not suspended. `acts`: has also replaced a one-time password. With the variant `lock`, their
 * rows are locked in the lock order.
 */
export const adminAccounts = statement('accounts.admins', {
  takes: {},
  returns: { id: 'text', stays: 'bool', acts: 'bool' },
  variants: ['lock', 'read'],
  sql: (mode: 'lock' | 'read') => `SELECT id, stays, stays AND NOT must_change_password AS acts
    FROM (SELECT a.id, a.must_change_password, a.suspended_at IS NULL AND ${canSignIn} AS stays
      FROM accounts a WHERE a.role = 'admin' ORDER BY a.id ${mode === 'lock' ? 'FOR NO KEY UPDATE OF a' : ''}) AS admins`,
})

/** The addresses of admins who can sign in, oldest first. */
export const contactsOfAdmins = statement('accounts.admin-contacts', {
  takes: {},
  returns: { id: 'text', email: 'text', locale: 'text', name: 'text' },
  sql: `SELECT a.id, a.email, a.locale, a.name FROM accounts a WHERE a.role = 'admin' AND ${canSignIn}
    ORDER BY a.created_at, a.id`,
})

const isInvited = `(a.password_hash IS NULL AND NOT ${hasIdentity})`
const isErasing = `(a.suspended_at IS NOT NULL OR ${isFenced})`
/** SQL conditions for the states of an account `a`. */
const stateConditions: Record<AccountState, string> = {
  invited: isInvited,
  deactivated: '(a.deactivated_at IS NOT NULL)',
  erasing: isErasing,
  restricted: '(a.restricted_at IS NOT NULL)',
  active: `NOT (${isInvited} OR a.deactivated_at IS NOT NULL OR ${isErasing})`,
}
/** SQL condition: the account `a` is active. */
const isActive = stateConditions.active
/** SQL condition: the account `a` has a second factor. */
const hasFactor = 'EXISTS (SELECT FROM account_factors f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL)'
const userColumns = `a.id, a.name, coalesce(a.invited_email, a.email) AS email, a.role::text AS role, a.organisation_id, o.name AS organisation, a.locale,
  array_remove(ARRAY[${accountStates.map((state) => `CASE WHEN ${stateConditions[state]} THEN '${state}' END`).join(', ')}], NULL) AS states,
  a.password_hash IS NOT NULL AS has_password, ${hasFactor} AS has_second_factor, a.created_at`
const users = 'accounts a JOIN organisations o ON o.id = a.organisation_id'
const userReturns = {
  id: 'text',
  name: 'text',
  email: 'text',
  role: typed<Role>('text'),
  organisation_id: 'text',
  organisation: 'text',
  locale: 'text',
  states: typed<AccountState[]>('text[]'),
  has_password: 'bool',
  has_second_factor: 'bool',
  created_at: 'timestamptz',
} as const

export const userById = statement('accounts.user', {
  takes: { id: 'text' },
  returns: userReturns,
  sql: `SELECT ${userColumns} FROM ${users} WHERE a.id = $id`,
})
export type UserRow = Awaited<ReturnType<typeof userById>>[number]

const userFilters = {
  q: '(coalesce(a.invited_email, a.email) ILIKE $q OR a.name ILIKE $q OR a.id LIKE $q)',
  role: 'a.role = $role::account_role',
  organisation: 'a.organisation_id = $organisation',
  second_factor: `($second_factor = 'missing') = (a.password_hash IS NOT NULL AND NOT ${hasFactor})`,
} as const
/** The filters that apply to a list of accounts. */
interface UserSelection {
  filters: readonly (keyof typeof userFilters)[]
  state: AccountState | undefined
}
const selected = ({ filters, state }: UserSelection): string =>
  ['TRUE', ...filters.map((name) => userFilters[name]), ...(state === undefined ? [] : [stateConditions[state]])].join(
    ' AND ',
  )
const userTakes = { q: 'text?', role: 'text?', organisation: 'text?', second_factor: 'text?' } as const
const userVariants: readonly UserSelection[] = [
  { filters: [], state: undefined },
  ...accountStates.map((state): UserSelection => ({ filters: ['q', 'role', 'organisation', 'second_factor'], state })),
]

export const countUsers = statement('accounts.count-users', {
  takes: userTakes,
  returns: { n: 'int4' },
  variants: userVariants,
  sql: (selection: UserSelection) => `SELECT count(*)::int AS n FROM ${users} WHERE ${selected(selection)}`,
})

export const countUsersByState = statement('accounts.count-users-by-state', {
  takes: {},
  returns: { invited: 'int4', deactivated: 'int4', erasing: 'int4', active: 'int4', restricted: 'int4' },
  sql: `SELECT ${accountStates.map((state) => `count(*) FILTER (WHERE ${stateConditions[state]})::int4 AS ${state}`).join(', ')} FROM ${users}`,
})

/** A page of accounts, newest first. A page after a cursor begins after `at` and `id`. */
export const listUserRows = statement('accounts.list-users', {
  takes: { ...userTakes, at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: userReturns,
  variants: userVariants,
  sql: (selection: UserSelection) => `SELECT ${userColumns} FROM ${users} WHERE ${selected(selection)}
    AND ($at IS NULL OR (a.created_at, a.id) < ($at, $id)) ORDER BY a.created_at DESC, a.id DESC LIMIT $limit`,
})

/** What admins see of an account in addition to its row: its sessions, and the newest open link to choose a password. */
export const userDetail = statement('accounts.user-detail', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: {
    deactivated_at: 'timestamptz?',
    purpose: typed<PasswordLinkPurpose | null>('text?'),
    sent_at: 'timestamptz?',
    expires_at: 'timestamptz?',
    sessions: 'int4',
    last_seen_at: 'timestamptz?',
  },
  isPrepared: true,
  sql: `SELECT a.deactivated_at, l.purpose::text AS purpose, l.created_at AS sent_at, l.expires_at,
      (SELECT count(*)::int FROM sessions s WHERE s.account_id = a.id AND s.revoked_at IS NULL AND s.expires_at > $now) AS sessions,
      (SELECT max(s.last_seen_at) FROM sessions s WHERE s.account_id = a.id) AS last_seen_at
    FROM accounts a LEFT JOIN LATERAL (SELECT purpose, created_at, expires_at FROM account_links
      WHERE account_id = a.id AND used_at IS NULL AND expires_at > $now ORDER BY created_at DESC LIMIT 1) l ON TRUE
    WHERE a.id = $id`,
})

/** Accounts after this id whose invitation nobody accepted since `before`, and to which nothing refers. */
export const uninvitedAccounts = statement('accounts.uninvited', {
  takes: { before: 'timestamptz', after: 'text', limit: 'int4' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT a.id FROM accounts a WHERE a.id > $after AND a.password_hash IS NULL AND a.updated_at < $before
      AND a.suspended_at IS NULL AND a.restricted_at IS NULL
      AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id)
      AND NOT EXISTS (SELECT FROM account_links l WHERE l.account_id = a.id AND l.created_at > $before)
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.account_id = a.id)
      AND NOT EXISTS (SELECT FROM agent_owners g WHERE g.owner_id = a.id)
      AND NOT ${isFenced}
    ORDER BY a.id LIMIT $limit`,
})

/** Locks an account for its deletion, if it is still uninvited and no other transaction has locked it. */
export const lockUninvited = statement('accounts.lock-uninvited', {
  takes: { id: 'text', before: 'timestamptz' },
  returns: { organisation_id: 'text' },
  sql: `SELECT organisation_id FROM accounts WHERE id = $id AND password_hash IS NULL AND updated_at < $before
      AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = accounts.id)
      AND NOT EXISTS (SELECT FROM agent_owners g WHERE g.owner_id = accounts.id)
    FOR UPDATE SKIP LOCKED`,
})

/** The foreign key clears the owner of remaining agents. */
export const deleteAccounts = statement('accounts.delete', {
  takes: { ids: 'text[]' },
  returns: { organisation_id: 'text' },
  sql: 'DELETE FROM accounts WHERE id = ANY($ids) RETURNING organisation_id',
})

export const accountCreation = statement('accounts.created', {
  takes: { id: 'text' },
  returns: { since: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT created_at AS since FROM accounts WHERE id = $id',
})

/** Counts the accounts and references to them. */
export const countAccountResidue = statement('accounts.residue', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT ((SELECT count(*) FROM accounts WHERE id = ANY($ids))
    + (SELECT count(*) FROM agent_owners WHERE owner_id = ANY($ids))
    + (SELECT count(*) FROM sessions WHERE account_id = ANY($ids)))::int AS n`,
})

export const linkRows = accountRows({
  table: 'account_links',
  id: 'code_hash',
  isBytes: true,
  at: 'created_at',
  endsAt: 'coalesce(used_at, expires_at)',
})

export const deleteLinks = statement('accounts.purge-links', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM account_links WHERE expires_at < $before OR used_at < $before',
})

export const inventoryOfIdentities = statement('accounts.identities-inventory', {
  takes: { account: 'text' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT count(*)::int AS n, min(linked_at) AS since FROM account_identities WHERE account_id = $account',
})

export const deleteIdentities = statement('accounts.delete-identities', {
  takes: { accounts: 'text[]' },
  returns: { account_id: 'text' },
  sql: 'DELETE FROM account_identities WHERE account_id = ANY($accounts) RETURNING account_id',
})

export const countIdentities = statement('accounts.identities-residue', {
  takes: { accounts: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int AS n FROM account_identities WHERE account_id = ANY($accounts)',
})

/** SQL: the name and the email address of an account `a`, as the index `accounts_words_idx` has them. */
const words = "lower(a.name || ' ' || coalesce(a.invited_email, a.email))"

/** Accounts whose name or email address matches: those of the organization that `manager` manages, or all accounts with `everyone`. */
export const foundPeople = statement('accounts.found', {
  takes: { one: 'text', other: 'text', start: 'text', id: 'text', everyone: 'bool', manager: 'text?', limit: 'int4' },
  returns: { id: 'text', name: 'text', email: 'text' },
  sql: `SELECT f.id, f.name, f.email FROM (SELECT a.id, a.name, coalesce(a.invited_email, a.email) AS email FROM accounts a
      WHERE (${words} LIKE $one OR ${words} LIKE $other OR a.id = $id) AND ($everyone OR a.organisation_id =
        (SELECT m.organisation_id FROM accounts m WHERE m.id = $manager AND m.role = 'manager'))
      LIMIT ${maxNamesCompared}) f
    ORDER BY f.id = $id DESC, lower(f.name) LIKE $start DESC, f.name, f.id LIMIT $limit`,
})

export const emailChoiceRows = accountRows({ table: 'email_choices', id: 'id', at: 'updated_at' })

/** The choices of an account; kinds without a choice have no row. */
export const choicesOf = statement('email-choices.of-account', {
  takes: { account: 'text' },
  returns: { kind: typed<EmailKind>('text'), delivery: typed<EmailDelivery>('text') },
  isPrepared: true,
  sql: 'SELECT kind, delivery FROM email_choices WHERE account_id = $account ORDER BY kind',
})

export const storeChoice = statement('email-choices.store', {
  takes: { id: 'text', account: 'text', kind: 'text', delivery: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO email_choices (id, account_id, kind, delivery, updated_at) VALUES ($id, $account, $kind, $delivery, $now)
    ON CONFLICT (account_id, kind) DO UPDATE SET delivery = excluded.delivery, updated_at = excluded.updated_at`,
})

/** Whether another admin who can sign in gets emails of this kind. `usual`: the delivery without a choice. */
export const otherReceivers = statement('email-choices.other-receivers', {
  takes: { account: 'text', kind: 'text', usual: 'text' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM accounts a LEFT JOIN email_choices c ON c.account_id = a.id AND c.kind = $kind
    WHERE a.role = 'admin' AND a.id <> $account AND a.suspended_at IS NULL AND ${canSignIn}
      AND coalesce(c.delivery, $usual) <> 'never'`,
})

export const factorRows = accountRows({ table: 'account_factors', id: 'id', at: 'created_at' })
export const recoveryCodeRows = accountRows({
  table: 'account_recovery_codes',
  id: 'code_hash',
  isBytes: true,
  at: 'created_at',
})

/** SQL condition: the active account `a` is affected by a requirement for everybody or for admins. */
const isAffected = `${isActive} AND ($everybody OR a.role = 'admin')`

/** Active accounts with a password, those of them without a second factor, and active accounts without a password. */
export const countRequiredFactors = statement('second-factors.count-required', {
  takes: { everybody: 'bool' },
  returns: { accounts: 'int4', without: 'int4', by_provider: 'int4' },
  sql: `SELECT count(*) FILTER (WHERE a.password_hash IS NOT NULL)::int4 AS accounts,
      count(*) FILTER (WHERE a.password_hash IS NOT NULL AND NOT ${hasFactor})::int4 AS without,
      count(*) FILTER (WHERE a.password_hash IS NULL)::int4 AS by_provider
    FROM accounts a WHERE ${isAffected}`,
})

/** Notes a reminder for affected accounts without a second factor that had none since `before`. Two calls never get the same account. */
export const claimReminders = statement('second-factors.claim-reminders', {
  takes: { everybody: 'bool', now: 'timestamptz', before: 'timestamptz', limit: 'int4' },
  returns: { id: 'text' },
  sql: `UPDATE accounts SET factor_reminded_at = $now WHERE id IN (SELECT a.id FROM accounts a
      WHERE ${isAffected} AND a.password_hash IS NOT NULL AND NOT ${hasFactor}
        AND (a.factor_reminded_at IS NULL OR a.factor_reminded_at <= $before)
      ORDER BY a.id LIMIT $limit FOR NO KEY UPDATE OF a SKIP LOCKED)
    RETURNING id`,
})

/** Organizations that have people, in order of their ids, after this id. */
export const organisationsWithPeople = statement('organisations.with-people', {
  takes: { after: 'text', limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM organisations o WHERE id > $after AND EXISTS (SELECT FROM accounts a WHERE a.organisation_id = o.id)
    ORDER BY id LIMIT $limit`,
})

/** Organizations with people, by name, and how many people each has. `pattern` limits them by name. */
export const listOrganisationRows = statement('organisations.list', {
  takes: { pattern: 'text?' },
  returns: { organisation_id: 'text', name: 'text', people: 'int4', namespaces: 'text[]!' },
  isPrepared: true,
  sql: `SELECT o.id AS organisation_id, o.name, count(*)::int AS people, o.store_namespaces AS namespaces
    FROM organisations o JOIN accounts a ON a.organisation_id = o.id
    WHERE $pattern IS NULL OR o.name ILIKE $pattern GROUP BY o.id ORDER BY lower(o.name), o.id LIMIT 100`,
})

const isEmpty = `NOT EXISTS (SELECT FROM agent_names a WHERE a.organisation_id = o.id)
  AND NOT EXISTS (SELECT FROM accounts p WHERE p.organisation_id = o.id)`

/** Counts the organizations with one of these names that have neither people nor agents. */
export const countEmptyNamed = statement('organisations.count-empty', {
  takes: { names: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM organisations o WHERE o.name = ANY($names) AND ${isEmpty}`,
})

/** Deletes the organization if it has neither people nor agents. */
export const deleteIfEmpty = statement('organisations.delete-if-empty', {
  takes: { id: 'text' },
  returns: 'count',
  sql: `DELETE FROM organisations o WHERE o.id = $id AND ${isEmpty}`,
})

/** The prefixes of ids in connected stores that an organization may use. */
export const namespacesOf = statement('organisations.namespaces', {
  takes: { id: 'text?' },
  returns: { id: 'text', namespaces: 'text[]', is_any: 'bool' },
  sql: 'SELECT id, namespaces, is_any FROM organisation_namespaces WHERE id = $id',
})

/** Serializes assignments of namespaces until the end of the transaction, so that the second one sees the first. */
export const lockNamespaces = statement('organisations.lock-namespaces', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('store-namespaces'))::text AS lock`,
})

/** Serializes invitations into an organization until the end of the transaction. */
export const lockInvitations = statement('organisations.lock-invitations', {
  takes: { id: 'text' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM organisations WHERE id = $id FOR NO KEY UPDATE',
})

/** When the newest but `skipped` invitation after `since` was made. Withdrawn invitations count. */
export const invitationBefore = statement('organisations.invitation-before', {
  takes: { id: 'text', since: 'timestamptz', skipped: 'int4' },
  returns: { at: 'timestamptz' },
  sql: `SELECT at FROM (SELECT created_at AS at FROM accounts WHERE organisation_id = $id AND created_at > $since
      UNION ALL SELECT unnest(withdrawn_invitations) FROM organisations WHERE id = $id) AS made
    WHERE at > $since ORDER BY at DESC LIMIT 1 OFFSET $skipped`,
})

/** Records when a withdrawn invitation was made, and forgets those before `since`. */
export const noteWithdrawnInvitation = statement('organisations.note-withdrawn', {
  takes: { id: 'text', since: 'timestamptz', made: 'timestamptz' },
  returns: 'count',
  sql: `UPDATE organisations SET withdrawn_invitations =
      ARRAY(SELECT t FROM unnest(withdrawn_invitations) t WHERE t > $since) || $made
    WHERE id = $id`,
})

/** Locks the session against being ended. Returns no row if it has ended. */
export const lockOpenSession = statement('sessions.lock-open', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM sessions WHERE id = $id AND revoked_at IS NULL AND expires_at > $now FOR SHARE',
})
/** Locks the sessions of an account, so that requests which need an open session end before, or wait. */
export const lockSessions = statement('sessions.lock-all', {
  takes: { account: 'text' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM sessions WHERE account_id = $account AND revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE',
})
/** An open session with its account, which is open too. Read for every request of a person: one indexed query. */
export const openSession = statement('sessions.open', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: {
    session_id: 'text',
    last_seen_at: 'timestamptz',
    password_at: 'timestamptz?',
    account_id: 'text',
    organisation_id: 'text',
    role: typed<Role>('text'),
    must_change_password: 'bool',
    signed_in_with: typed<SignInWay | null>('text?'),
    has_factor: 'bool',
    /** Ids of the person's agents, sorted. */
    agents: 'text[]',
  },
  isPrepared: true,
  sql: `SELECT s.id AS session_id, s.last_seen_at, s.password_at, a.id AS account_id, a.organisation_id, a.role::text AS role,
      a.must_change_password, s.signed_in_with,
      EXISTS (SELECT FROM account_factors f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL) AS has_factor,
      ARRAY(SELECT g.id FROM agent_owners g WHERE g.owner_id = a.id ORDER BY g.id) AS agents
    FROM sessions s JOIN accounts a ON a.id = s.account_id
    WHERE s.id = $id AND s.revoked_at IS NULL AND s.expires_at > $now AND a.deactivated_at IS NULL`,
})
export type SessionRow = Awaited<ReturnType<typeof openSession>>[number]

export const noteSessionSeen = statement('sessions.note-seen', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE sessions SET last_seen_at = $now WHERE id = $id AND last_seen_at < $now',
})

/** When and with which browser a person signed in last, newest first, as far as sessions are retained. */
export const newestSignIns = statement('sessions.newest', {
  takes: { account: 'text', current: 'text' },
  returns: { at: 'timestamptz', browser: 'text', isCurrent: 'bool' },
  isPrepared: true,
  sql: `SELECT created_at AS at, user_agent AS browser, id = $current AS "isCurrent"
    FROM sessions WHERE account_id = $account ORDER BY created_at DESC, id DESC LIMIT 3`,
})

/** A page of a person's open sessions, newest first, with the number of all. A page after a cursor begins after `at` and `id`. */
export const listOpenSessions = statement('sessions.list', {
  takes: { account: 'text', now: 'timestamptz', at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: {
    id: 'text',
    user_agent: 'text',
    created_at: 'timestamptz',
    last_seen_at: 'timestamptz',
    expires_at: 'timestamptz',
    total: 'int4',
  },
  isPrepared: true,
  sql: `SELECT id, user_agent, created_at, last_seen_at, expires_at, total FROM (SELECT *, count(*) OVER ()::int AS total FROM sessions
      WHERE account_id = $account AND revoked_at IS NULL AND expires_at > $now) AS open
    WHERE $at IS NULL OR (created_at, id) < ($at, $id) ORDER BY created_at DESC, id DESC LIMIT $limit`,
})

export const deleteEndedSessions = statement('sessions.purge', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM sessions WHERE expires_at < $before OR revoked_at < $before',
})

export const signInMark = statement('sessions.sign-in-mark', {
  takes: { mark: 'bytea', after: 'timestamptz' },
  returns: { last_at: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT last_at FROM known_sign_ins WHERE mark = $mark AND last_at > $after',
})

export const deleteSignInMarks = statement('sessions.purge-sign-in-marks', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM known_sign_ins WHERE last_at < $before',
})

export const sessionRows = accountRows({
  table: 'sessions',
  id: 'id',
  at: 'created_at',
  endsAt: 'coalesce(revoked_at, expires_at)',
})
export const signInRows = accountRows({
  table: 'known_sign_ins',
  id: 'mark',
  isBytes: true,
  at: 'last_at',
  endsAt: 'last_at',
})

export const sealedTotpSecrets: SealedColumn = {
  table: 'account_factors',
  id: 'id',
  column: 'totp_secret',
  purpose: sealedPurposes.totpSecrets,
}

export const readNoticeRows = accountRows({ table: 'read_notices', id: 'id', at: 'read_at' })

/** The notifications that the person has read. */
export const readNoticesOf = statement('read-notices.of-account', {
  takes: { account: 'text' },
  returns: { notice: 'text' },
  isPrepared: true,
  sql: 'SELECT notice FROM read_notices WHERE account_id = $account',
})

export const storeReadNotices = statement('read-notices.store', {
  takes: { account: 'text', ids: 'text[]', notices: 'text[]', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO read_notices (id, account_id, notice, read_at)
    SELECT n.id, $account, n.notice, $now FROM unnest($ids::text[], $notices::text[]) AS n(id, notice)
    ON CONFLICT (account_id, notice) DO NOTHING`,
})

/** Deletes what the person has read of notifications that no longer exist. */
export const dropReadNotices = statement('read-notices.drop', {
  takes: { account: 'text', notices: 'text[]' },
  returns: 'count',
  sql: 'DELETE FROM read_notices WHERE account_id = $account AND NOT notice = ANY($notices)',
})
