import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder } from '#lib/kernel/holder.ts'
import type { LetterFolder } from './letter-folder.ts'

/** Letters in the folder are kept this long, in milliseconds. */
export const lettersKept = 7 * 86_400_000

export interface LetterHolderPorts {
  folder: LetterFolder
  /** The account's address while it has one. Without a transaction it asks by itself. */
  addressOf(accountId: string, tx?: Transaction): Promise<string | undefined>
}

/** Letters that lie in the folder, where there is no mail server, or was none. An item is a file's name. */
export const letterHolder = ({ folder, addressOf }: LetterHolderPorts): DataHolder => ({
  name: 'mail.letters',
  store: 'files',
  stage: 'derived',
  what: 'letters to the person in the mail folder',
  purpose: 'to tell a person what happens to their account and agents, where no mail server takes letters',
  kept: '7 days',
  tables: [],
  async inventory({ account }) {
    if (account === null) return { count: 0, since: null, until: null }
    const letters = await folder.to({ address: await addressOf(account), mark: account })
    const times = letters.map(({ writtenAt }) => writtenAt.getTime())
    return {
      count: letters.length,
      since: letters.length > 0 ? new Date(Math.min(...times)) : null,
      until: letters.length > 0 ? new Date(Math.max(...times) + lettersKept) : null,
    }
  },
  async plan(scope, tx) {
    if (!('subject' in scope) || scope.subject.account === null) return { items: [], held: {} }
    const { account } = scope.subject
    const letters = await folder.to({ address: await addressOf(account, tx), mark: account })
    return { items: letters.map(({ name }) => name).sort(), held: {} }
  },
  erase: (_scope, items) => folder.remove(items),
  /** By the names of the files, and by the marks, which need no address: that is gone by then. */
  async residue(scope, items) {
    if (!('subject' in scope) || scope.subject.account === null) return 0
    return folder.left(items, scope.subject.account)
  },
})
