import type { EntryContent, EntryHead, Envelope } from '#lib/client/sealing/entry.ts'
import type { Keyring } from '#lib/client/sealing/keyring.ts'
import type { SealingCode } from '#lib/client/sealing/sealing-refusal.ts'

/** What opens a keyring. */
export interface Opening {
  by: 'passphrase' | 'code'
  secret: string
}
interface Recovered {
  keyring: Keyring
  /** Shown once, and kept nowhere. */
  recoveryCode: string
}

/** What the page may ask of the worker that holds the master key, and what comes back. The key itself never does. */
export interface Questions {
  make: { asks: { passphrase: string }; gives: Recovered }
  open: { asks: { keyring: unknown } & Opening; gives: null }
  /** The same keys under another passphrase; with `present`, only who knows what opens them now. */
  changePassphrase: { asks: { keyring: unknown; present: Opening | null; next: string }; gives: Keyring }
  changeCode: { asks: { keyring: unknown; present: Opening }; gives: Recovered }
  /** In the order that was asked; a refusal stands in the place of what does not open. */
  read: { asks: { entries: readonly { head: EntryHead; envelope: unknown }[] }; gives: Read[] }
  write: {
    /** With `id`, other content for an entry that is there. */
    asks: Pick<EntryHead, 'agent' | 'kind'> & { id?: string; entry: EntryContent }
    gives: { id: string; envelope: Envelope }
  }
}
export type Read = { entry: EntryContent } | { refused: SealingCode }
export type QuestionName = keyof Questions
export type Question = { [N in QuestionName]: { name: N; asks: Questions[N]['asks'] } }[QuestionName]

/**
 * Why something was not done. `unsupported`: this browser lacks X25519. `insecure`: it gives no cryptography to a page that came without
 * TLS. `locked`: the key went while it was asked. `failed`: the worker did not come.
 */
export type VaultCode = SealingCode | 'unsupported' | 'insecure' | 'locked' | 'failed'
export interface Asked {
  number: number
  question: Question
}
export type Answered = { number: number } & ({ gives: unknown } | { refused: VaultCode })
