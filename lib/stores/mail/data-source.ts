import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { EmailOutboxFolder } from './outbox-folder.ts'

/** The retention period of emails in the folder, in milliseconds. */
export const outboxRetention = 7 * 86_400_000

/** The data source of emails in the folder, which are written while no mail server is configured. An item is a file's name. */
export const outboxDataSource = ({
  folder,
  addressOf,
}: {
  folder: EmailOutboxFolder
  /** The account's address, if it has one. Without a transaction it runs its own query. */
  addressOf(accountId: string, tx?: Transaction): Promise<string | undefined>
}): DataSource => ({
  name: 'mail.letters',
  store: 'files',
  stage: 'derived',
  what: 'emails to the person in the email folder',
  purpose: 'informing a person about their account and agents if no mail server is configured',
  kept: '7 days',
  tables: [],
  async inventory({ account }) {
    if (account === null) return { count: 0, since: null, until: null }
    const emails = await folder.to({ address: await addressOf(account), mark: account })
    const times = emails.map(({ writtenAt }) => writtenAt.getTime())
    return {
      count: emails.length,
      since: emails.length > 0 ? new Date(Math.min(...times)) : null,
      until: emails.length > 0 ? new Date(Math.max(...times) + outboxRetention) : null,
    }
  },
  async plan(scope, tx) {
    if (!('subject' in scope) || scope.subject.account === null) return { items: [], held: {} }
    const { account } = scope.subject
    const emails = await folder.to({ address: await addressOf(account, tx), mark: account })
    return { items: emails.map(({ name }) => name).sort(), held: {} }
  },
  erase: (_scope, items) => folder.remove(items),
  /** Searches by file names and by marks. Marks need no address, which is already deleted at this point. */
  async residue(scope, items) {
    if (!('subject' in scope) || scope.subject.account === null) return 0
    return folder.left(items, scope.subject.account)
  },
})
