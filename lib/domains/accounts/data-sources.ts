import type { DataSource, Holding } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { rowsOfAccount } from '#lib/stores/postgres/account-rows.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { emailChoiceRows } from './email-choices/repository.ts'
import { dropOrganisationIfEmpty } from './organisations/directory.ts'
import {
  accountCreation,
  countAccountResidue,
  countIdentities,
  deleteAccounts,
  deleteIdentities,
  inventoryOfIdentities,
  linkRows,
  lockAccountRows,
} from './repository.ts'
import { endedLinkRetention, endedSessionRetention, signInPlaceRemembered } from './rules.ts'
import { factorRows, recoveryCodeRows } from './second-factors/repository.ts'
import { sessionRows, signInRows } from './sessions/repository.ts'

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

/** Erased last: the account, and its organization if it becomes empty. Held agents remain without an owner. */
export const accountDataSource = (db: Database): DataSource => ({
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
