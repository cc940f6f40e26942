import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { type EmailOutboxFolder, emailOutboxFolder } from './outbox-folder.ts'

export interface Email {
  /** One address. */
  to: string
  subject: string
  text: string
  html: string
  /** Additional headers. */
  headers?: Record<string, string>
  /**
   * Identifies the email in the folder: the id of the account that it is about, so that it is deleted with the account. An email that
   * informs a person about their erasure has the id of the request instead, which manages it.
   */
  about?: string
}
export interface MailPort {
  /** Resolves once the server has accepted the email or the file is written. Rejects, without naming the address, if that failed. */
  send(email: Email): Promise<void>
  /** Rejects with the server's reason if emails cannot be sent now. */
  verify(): Promise<void>
  /** Removes emails written to the folder before `time`; returns how many. */
  prune(time: Date): Promise<number>
  /** Stores emails while no mail server is configured. */
  folder: EmailOutboxFolder
  close(): void
}
export interface MailSettings {
  /** `smtp://user:password@host:587` or `smtps://…`; without it, emails are written to `<dataDir>/mail`. */
  smtpUrl?: string | undefined
  /** `Name <address>`. */
  from: string
  dataDir: string
}

/** Emails come from our own templates; nothing in them may make the mailer read a file or fetch a URL. */
const ownPartsOnly = { disableFileAccess: true, disableUrlAccess: true }

/** Sends email through a server or, without one, writes it to readable files. */
export function openMail({ smtpUrl, from, dataDir }: MailSettings): MailPort {
  const folder = emailOutboxFolder(join(dataDir, 'mail'))
  return smtpUrl === undefined ? folderMail(from, folder) : smtpMail(from, smtpUrl, folder)
}

/** Codes only: the server's own message repeats the address, and errors are logged and stored with their job. */
function reasonOf(error: unknown): string {
  const field = (name: string) =>
    typeof error === 'object' && error !== null ? Object.getOwnPropertyDescriptor(error, name)?.value : undefined
  return [field('code'), field('responseCode')].filter((part) => part !== undefined).join(' ') || 'no reason given'
}

function smtpMail(from: string, url: string, folder: EmailOutboxFolder): MailPort {
  const transport = createTransport({
    url,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    ...ownPartsOnly,
  })
  return {
    async send({ to, about: _, ...email }) {
      // Passed as an object, so that its content is always parsed as one address.
      await transport
        .sendMail({ from, to: { name: '', address: to }, ...email, ...ownPartsOnly })
        .catch((error: unknown) => {
          throw new Error(`The mail server rejected the email (${reasonOf(error)}).`)
        })
    },
    async verify() {
      await transport.verify()
    },
    // Removes emails written before a server was configured.
    prune: folder.prune,
    folder,
    close: () => transport.close(),
  }
}

function folderMail(from: string, folder: EmailOutboxFolder): MailPort {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...ownPartsOnly })
  return {
    async send({ to, about, ...email }) {
      const { message } = await transport.sendMail({ from, to: { name: '', address: to }, ...email })
      await folder.write(message, about)
    },
    verify: folder.prepare,
    prune: folder.prune,
    folder,
    close() {},
  }
}
