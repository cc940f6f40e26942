import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { type LetterFolder, letterFolder } from './letter-folder.ts'

export interface Letter {
  /** One address. */
  to: string
  subject: string
  text: string
  html: string
  /**
   * By what it is found again where it lies in the folder: the id of the account that it is about, so that it goes with the account. What
   * tells a person of their erasure has the request's: the request minds it.
   */
  about?: string
}
export interface MailPort {
  /** Resolves once the server has taken the letter, or the file is written. Rejects, naming no address, when it could not be handed over. */
  send(letter: Letter): Promise<void>
  /** Rejects, with the server's reason, when letters could not be sent now. */
  verify(): Promise<void>
  /** Removes letters that were written to the folder before `time`; returns how many. */
  prune(time: Date): Promise<number>
  /** Where letters lie that no server took. */
  folder: LetterFolder
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
export function openMail({ smtpUrl, from, dataDir }: MailSettings): MailPort {
  const folder = letterFolder(join(dataDir, 'mail'))
  return smtpUrl === undefined ? folderMail(from, folder) : smtpMail(from, smtpUrl, folder)
}

/** Codes alone: the server's own words repeat the address, and errors are logged and kept with their job. */
function reasonOf(error: unknown): string {
  const field = (name: string) =>
    typeof error === 'object' && error !== null ? Object.getOwnPropertyDescriptor(error, name)?.value : undefined
  return [field('code'), field('responseCode')].filter((part) => part !== undefined).join(' ') || 'no reason given'
}

function smtpMail(from: string, url: string, folder: LetterFolder): MailPort {
  const transport = createTransport({
    url,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    ...ownPartsOnly,
  })
  return {
    async send({ to, about: _, ...letter }) {
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
    // From before there was a server.
    prune: folder.prune,
    folder,
    close: () => transport.close(),
  }
}

function folderMail(from: string, folder: LetterFolder): MailPort {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...ownPartsOnly })
  return {
    async send({ to, about, ...letter }) {
      const { message } = await transport.sendMail({ from, to: { name: '', address: to }, ...letter })
      await folder.write(message, about)
    },
    verify: folder.prepare,
    prune: folder.prune,
    folder,
    close() {},
  }
}
