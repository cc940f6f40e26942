import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'

export interface Letter {
  /** One address. */
  to: string
  subject: string
  text: string
  html: string
}
export interface MailPort {
  /** Resolves once the server has taken the letter, or the file is written. Rejects, naming no address, when it could not be handed over. */
  send(letter: Letter): Promise<void>
  /** Rejects, with the server's reason, when letters could not be sent now. */
  verify(): Promise<void>
  /** Removes letters that were written to the folder before `time`; returns how many. */
  prune(time: Date): Promise<number>
  close(): void
}
export interface MailSettings {
  /** `smtp://user:password@host:587` or `smtps://…`; without it letters go to `<dataDir>/mail`. */
  smtpUrl?: string | undefined
  /** `Name <address>`. */
  from: string
  dataDir: string
}

/** A letter is set from our own templates: nothing in it may make the mailer read a file or fetch an address. */
const ownPartsOnly = { disableFileAccess: true, disableUrlAccess: true }

/** Mail through a server, or, without one, as files that a person can open. */
export const openMail = ({ smtpUrl, from, dataDir }: MailSettings): MailPort =>
  smtpUrl === undefined ? folderMail(from, join(dataDir, 'mail')) : smtpMail(from, smtpUrl)

/** Codes alone: the server's own words repeat the address, and errors are logged and kept with their job. */
function reasonOf(error: unknown): string {
  const field = (name: string) =>
    typeof error === 'object' && error !== null ? Object.getOwnPropertyDescriptor(error, name)?.value : undefined
  return [field('code'), field('responseCode')].filter((part) => part !== undefined).join(' ') || 'no reason given'
}

function smtpMail(from: string, url: string): MailPort {
  const transport = createTransport({
    url,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    ...ownPartsOnly,
  })
  return {
    async send({ to, ...letter }) {
      // As an object, so that the address is one address whatever is in it.
      await transport
        .sendMail({ from, to: { name: '', address: to }, ...letter, ...ownPartsOnly })
        .catch((error: unknown) => {
          throw new Error(`The mail server did not take the letter (${reasonOf(error)}).`)
        })
    },
    async verify() {
      await transport.verify()
    },
    prune: async () => 0,
    close: () => transport.close(),
  }
}

function folderMail(from: string, folder: string): MailPort {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...ownPartsOnly })
  const prepare = async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await chmod(folder, 0o700)
  }
  return {
    async send({ to, ...letter }) {
      const { message } = await transport.sendMail({ from, to: { name: '', address: to }, ...letter })
      await prepare()
      const time = new Date().toISOString().replaceAll(':', '-')
      const name = `${time}-${randomBytes(4).toString('hex')}.eml`
      await writeFile(join(folder, name), message, { mode: 0o600, flag: 'wx' })
    },
    verify: prepare,
    async prune(time) {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      let removed = 0
      for (const name of names.filter((one) => one.endsWith('.eml'))) {
        const file = join(folder, name)
        if ((await stat(file)).mtime >= time) continue
        await rm(file)
        removed++
      }
      return removed
    },
    close() {},
  }
}
