import { closeAsObsolete } from '#lib/domains/privacy-requests/execution/erasure-start.ts'
import { deleteUnconfirmed } from '#lib/domains/privacy-requests/form/repository.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { PrivacyDeps } from './ports.ts'
import {
  assignToSubject,
  countResidue,
  countRetainedAddresses,
  deleteActors,
  deleteExportPaths,
  deleteNotes,
  deleteSubjects,
  inventoryOfRequests,
  lockRequests,
  requestsAbout,
  requestsNaming,
} from './repository.ts'
import { formHash, lockedRequest, requestSubjectHash } from './requests.ts'
import { retainedUntil } from './rules.ts'
import { settle, systemWork } from './timeline.ts'

const nobody: Subject = { account: null, agents: [] }
const subjectIn = (scope: ErasureScope): Subject => ('subject' in scope ? scope.subject : nobody)
/** The subject as values of statements: `actors` are its ids in the audit log. */
const valuesOf = ({ account, agents, participants = [] }: Subject) => ({
  subject: { account, agents, participants },
  actors: [...(account === null ? [] : [`user:${account}`]), ...agents],
})

const hashesOf = (
  { subjectKey }: Pick<PrivacyDeps, 'subjectKey'>,
  { account, agents, participants = [] }: Subject,
): string[] => [
  ...(account === null ? [] : [requestSubjectHash(subjectKey(), 'account', account)]),
  ...agents.map((id) => requestSubjectHash(subjectKey(), 'agent', id)),
  ...participants.map((id) => requestSubjectHash(subjectKey(), 'participant', id)),
]

interface AddressPort {
  /** Returns the email address of the account; undefined when the account does not exist. */
  addressOf(accountId: string, tx?: Transaction): Promise<string | undefined>
}
/** The keyed hash of the subject's address, by which its requests from the form are found. */
export async function addressesOf(
  { subjectKey, addressOf }: Pick<PrivacyDeps, 'subjectKey'> & AddressPort,
  account: string | null,
  tx?: Transaction,
): Promise<string[]> {
  const email = account === null ? undefined : await addressOf(account, tx)
  return email === undefined ? [] : [formHash(subjectKey(), 'address', email)]
}

/**
 * Privacy requests. They prove that rights were answered and are retained for some years after closing. When the
 * subject is erased they become pseudonymous: kinds, states, times and counts without names and texts.
 * Open requests of the subject are closed as moot, so that a restored backup cannot start them again. The request that
 * is being carried out keeps its address until its last email is sent.
 */
export const requestDataSource = (
  deps: Pick<PrivacyDeps, 'db' | 'pipeline' | 'subjectKey' | 'requestsYears'> & AddressPort,
): DataSource => ({
  name: 'privacy.requests',
  store: 'postgresql',
  stage: 'account',
  what: 'names and texts in privacy requests; the kinds, states and times remain under a pseudonym',
  held: 'privacy requests: their content, steps and messages, and the sealed address for emails; requests from the form with the same address',
  purpose: 'to answer requests, and to prove that they were answered',
  kept: `${deps.requestsYears} ${deps.requestsYears === 1 ? 'year' : 'years'} after a request is closed`,
  basis: 'legal obligation (GDPR art. 6(1)(c) with art. 5(2), 12)',
  tables: ['privacy_requests', 'privacy_request_parts', 'privacy_request_events', 'privacy_links'],

  async inventory(subject) {
    const { subject: ids, actors } = valuesOf(subject)
    const addresses = await addressesOf(deps, ids.account)
    const [row] = await inventoryOfRequests(deps.db, { ...ids, addresses, actors })
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.closed ? retainedUntil(row.closed, deps.requestsYears) : null,
    }
  },

  async plan(scope, tx) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    const addresses = await addressesOf(deps, subject.account, tx)
    const rows = await requestsNaming(tx, { ...subject, addresses, actors, hashes: hashesOf(deps, subject) })
    return { items: rows.map(({ id }) => id), held: {} }
  },

  async erase(scope, ids, tx) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    await lockRequests(tx, { ids })
    // Requests of others that the subject filed or was assigned to only lose the subject's name.
    const addresses = await addressesOf(deps, subject.account, tx)
    const own = await requestsAbout(tx, { ...subject, addresses, ids, hashes: hashesOf(deps, subject) })
    const ownIds = own.map(({ id }) => id)
    const work = systemWork(tx, deps.pipeline.clock.now(), 'erasure')
    for (const { id, isObsolete } of own) {
      const open = isObsolete ? await lockedRequest(tx, id) : undefined
      if (open) await closeAsObsolete(work, open)
    }
    // No emails about the closed requests: the emails about the erasure itself report the outcome.
    work.told.clear()
    await settle(deps, work)
    // A run that began before forms were a data source of their own has them among these items.
    await deleteUnconfirmed(tx, { ids })
    await deleteNotes(tx, { ids: ownIds })
    await deleteExportPaths(tx, { ids: ownIds })
    await tx.privacyLink.deleteMany({ where: { requestId: { in: ownIds } } })
    const [subjectKey] = hashesOf(deps, subject)
    if (subjectKey !== undefined) await assignToSubject(tx, { ids: ownIds, subjectKey })
    await deleteSubjects(tx, { ids: ownIds })
    await deleteActors(tx, { ids, actors, account: subject.account })
    return ids.length
  },

  /** Searches by the subject's keyed hash and by remaining texts, not by the columns that `erase` uses. */
  async residue(scope, items) {
    const { subject, actors } = valuesOf(subjectIn(scope))
    const { account } = subject
    const [row] = await countResidue(deps.db, { hashes: hashesOf(deps, subject), items, actors, account })
    return row?.n ?? 0
  },

  /** Searches by the keyed hash, because the request no longer names the subject. */
  async whileHeld(subject) {
    const [row] = await countRetainedAddresses(deps.db, { hashes: hashesOf(deps, subject) })
    return (row?.n ?? 0) === 0
      ? []
      : [
          {
            what: receiptText('retained', 'address'),
            ground: receiptText('grounds', 'end'),
          },
        ]
  },
})
