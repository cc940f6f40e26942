import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { comparableAddress } from '#lib/kernel/address-forms.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EmailParts, emailParts, headersOf } from './email-parts.ts'

export interface StoredEmail {
  /** The name of the file. */
  name: string
  writtenAt: Date
}
/** An email as it appears in a list. */
export interface ListedEmail extends StoredEmail, Pick<EmailParts, 'to' | 'subject'> {
  bytes: number
}
/** An email with its contents. If the file is larger than any email of ours, only its beginning is read (`isCut`). */
interface ReadEmail extends ListedEmail, EmailParts {
  isCut: boolean
}
/**
 * Finds emails by their address, or by the mark that they got when they were written. The mark still works after the account's address
 * is deleted.
 */
export interface Recipient {
  address?: string | undefined
  mark: string
}

/**
 * The mark in a file's name that identifies the subject of the email. The id cannot be derived from it, but with the id the email can be
 * found.
 */
const markOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 16)
const nameForm = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z(?:-([0-9a-f]{16}))?-[0-9a-f]{8}\.eml$/
/** Longer than the headers of any email that we send, in bytes. */
const headBytes = 8_192
/** Larger than any email that we send, in bytes. */
const maxBytes = 256 * 1024
/** Does not follow links and does not wait for pipes, so only regular files of this folder are read. */
const asItLies = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
/** Error codes of a file that was deleted or is not an email: a link, a socket. */
const noEmail = ['ENOENT', 'ELOOP', 'EMLINK', 'ENXIO']
const unlessMissing =
  <T>(otherwise: T) =>
  (error: unknown): T => {
    if (isMissing(error)) return otherwise
    throw error
  }

/** The address in an email's To header (RFC 5322 §3.6.3), with its lines unfolded; undefined if there is none. */
function recipientOf(head: string): string | undefined {
  const [headers = ''] = head.split(/\r?\n\r?\n/, 1)
  const to = /^To:(.*)$/im.exec(headers.replace(/\r?\n[ \t]+/g, ' '))?.[1]?.trim()
  const address = to && (/<([^<>]*)>\s*$/.exec(to)?.[1] ?? to)
  return address ? comparableAddress(address) : undefined
}

const prepare = async (folder: string) => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}
const namesIn = async (folder: string) =>
  (await readdir(folder).catch(unlessMissing<string[]>([]))).filter((one) => one.endsWith('.eml'))

async function headOf(folder: string, name: string): Promise<string> {
  const file = await open(join(folder, name)).catch(unlessMissing(undefined))
  if (!file) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

async function stored(folder: string, found: readonly string[]): Promise<StoredEmail[]> {
  const emails: StoredEmail[] = []
  for (const name of found) {
    const file = await stat(join(folder, name)).catch(unlessMissing(undefined))
    if (file) emails.push({ name, writtenAt: file.mtime })
  }
  return emails
}

async function remove(folder: string, deleted: readonly string[]): Promise<number> {
  let removed = 0
  for (const name of deleted) {
    if (!nameForm.test(name)) continue
    const was = await rm(join(folder, name)).then(() => true, unlessMissing(false))
    if (was) removed++
  }
  return removed
}

/** The beginning of an email; undefined if it was deleted in the meantime or is not a file: a link, a folder, a pipe. */
async function begun(folder: string, name: string, max: number) {
  const file = await open(join(folder, name), asItLies).catch((error: unknown) => {
    if (noEmail.includes(errorCode(error) ?? '')) return undefined
    throw error
  })
  if (!file) return undefined
  try {
    const about = await file.stat()
    if (!about.isFile()) return undefined
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(max, about.size)), 0, undefined, 0)
    return { text: buffer.toString('utf8', 0, bytesRead), bytes: about.size, writtenAt: about.mtime }
  } finally {
    await file.close()
  }
}

interface OutboxPage {
  after: string | undefined
  limit: number
  /** Part of the recipient or the subject, case-insensitive. */
  text?: string | undefined
}

/** The newest emails whose recipient or subject contains the lower-case text. It reads the head of every email. */
async function listMatching(
  folder: string,
  names: readonly string[],
  { after, limit, text }: OutboxPage & { text: string },
): Promise<{ letters: ListedEmail[]; total: number }> {
  const found: ListedEmail[] = []
  for (const name of names) {
    const head = await begun(folder, name, headBytes)
    if (!head) continue
    const headers = headersOf(head.text)
    if (`${headers.to}\n${headers.subject}`.toLowerCase().includes(text))
      found.push({ name, writtenAt: head.writtenAt, bytes: head.bytes, ...headers })
  }
  const rest = after === undefined ? found : found.filter(({ name }) => name < after)
  return { letters: rest.slice(0, limit), total: found.length }
}

async function listNewest(
  folder: string,
  { after, limit, text }: OutboxPage,
): Promise<{ letters: ListedEmail[]; total: number }> {
  const ours = (await namesIn(folder))
    .filter((name) => nameForm.test(name))
    .sort()
    .reverse()
  if (text !== undefined) return listMatching(folder, ours, { after, limit, text: text.toLowerCase() })
  const emails: ListedEmail[] = []
  for (const name of after === undefined ? ours : ours.filter((one) => one < after)) {
    if (emails.length === limit) break
    const head = await begun(folder, name, headBytes)
    if (head) emails.push({ name, writtenAt: head.writtenAt, bytes: head.bytes, ...headersOf(head.text) })
  }
  return { letters: emails, total: ours.length }
}

async function emailsTo(folder: string, { address, mark }: Recipient): Promise<StoredEmail[]> {
  const wanted = address === undefined ? undefined : comparableAddress(address)
  const found: string[] = []
  for (const name of (await namesIn(folder)).sort()) {
    const isMarked = nameForm.exec(name)?.[1] === markOf(mark)
    if (isMarked || (wanted !== undefined && recipientOf(await headOf(folder, name)) === wanted)) found.push(name)
  }
  return stored(folder, found)
}

/** Emails as readable files, in a folder that only its owner can read. */
export function emailOutboxFolder(folder: string) {
  return {
    prepare: () => prepare(folder),
    /** Newest first: at most `limit` emails whose names follow `after` in that order, and the total number. */
    list: (page: OutboxPage) => listNewest(folder, page),
    /** When the oldest email was written, by the file names; undefined if there are none. */
    async oldest(): Promise<Date | undefined> {
      const first = (await namesIn(folder)).filter((name) => nameForm.test(name)).sort()[0]
      return first === undefined ? undefined : (await stored(folder, [first]))[0]?.writtenAt
    },
    /** Undefined if there is no email of that name, or if the name is not valid for one. */
    async read(name: string): Promise<ReadEmail | undefined> {
      if (!nameForm.test(name)) return undefined
      const found = await begun(folder, name, maxBytes)
      if (!found) return undefined
      const { writtenAt, bytes, text } = found
      return { name, writtenAt, bytes, isCut: bytes > maxBytes, ...emailParts(text) }
    },
    /** `about`: the id of the account that it is about. */
    async write(message: Parameters<typeof writeFile>[1], about: string | undefined): Promise<void> {
      await prepare(folder)
      const time = new Date().toISOString().replaceAll(':', '-')
      const mark = about === undefined ? '' : `-${markOf(about)}`
      const name = `${time}${mark}-${randomBytes(4).toString('hex')}.eml`
      await writeFile(join(folder, name), message, { mode: 0o600, flag: 'wx' })
    },
    /** Emails to the address and emails with the mark, oldest first. */
    to: (recipient: Recipient) => emailsTo(folder, recipient),
    /** The mark in an email's file name, to compare with the marks of known ids; undefined if it has none. See {@link markOf}. */
    markIn: (name: string): string | undefined => nameForm.exec(name)?.[1],
    count: async (): Promise<number> => (await namesIn(folder)).length,
    /** How many of these files exist, plus other files with this mark. */
    async left(expected: readonly string[], mark: string): Promise<number> {
      const deleted = new Set(expected)
      return (await namesIn(folder)).filter((name) => deleted.has(name) || name.includes(`-${markOf(mark)}-`)).length
    },
    /** Removes the emails with this mark; returns how many there were. */
    removeMarked: async (mark: string): Promise<number> =>
      remove(
        folder,
        (await namesIn(folder)).filter((name) => nameForm.exec(name)?.[1] === markOf(mark)),
      ),
    /** Returns how many there were. Names that are not valid for an email are skipped. */
    remove: (names: readonly string[]) => remove(folder, names),
    /** Removes emails written before `time`; returns how many. */
    async prune(time: Date): Promise<number> {
      const old = (await stored(folder, await namesIn(folder))).filter(({ writtenAt }) => writtenAt < time)
      let removed = 0
      for (const { name } of old) if (await rm(join(folder, name)).then(() => true, unlessMissing(false))) removed++
      return removed
    },
  }
}
export type EmailOutboxFolder = ReturnType<typeof emailOutboxFolder>

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
