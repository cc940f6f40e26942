import type { EntryContent, EntryHead, Envelope } from '#lib/client/sealing/entry.ts'
import type { Keyring } from '#lib/client/sealing/keyring.ts'
import type { SealingCode } from '#lib/client/sealing/sealing-refusal.ts'

/** The secret that opens a keyring. */
export interface Opening {
  by: 'passphrase' | 'code'
  secret: string
}
interface Recovered {
  keyring: Keyring
  /** Shown once and stored nowhere. */
  recoveryCode: string
}

/** The requests that the page may send to the worker with the master key, and their results. The key itself never leaves the worker. */
export interface Questions {
  make: { asks: { passphrase: string }; gives: Recovered }
  open: { asks: { keyring: unknown } & Opening; gives: null }
  /** Wraps the same keys with another passphrase. `present` proves knowledge of the current secret. */
  changePassphrase: { asks: { keyring: unknown; present: Opening | null; next: string }; gives: Keyring }
  changeCode: { asks: { keyring: unknown; present: Opening }; gives: Recovered }
  /** One result for each entry, in the same order; an entry that cannot be opened yields a refusal. */
  read: { asks: { entries: readonly { head: EntryHead; envelope: unknown }[] }; gives: Read[] }
  write: {
    /** With `id`: new content for an existing entry. */
    asks: Pick<EntryHead, 'agent' | 'kind'> & { id?: string; entry: EntryContent }
    gives: { id: string; envelope: Envelope }
  }
}
export type Read = { entry: EntryContent } | { refused: SealingCode }
export type QuestionName = keyof Questions
export type Question = { [N in QuestionName]: { name: N; asks: Questions[N]['asks'] } }[QuestionName]

/**
 * Why an operation failed. `unsupported`: this browser lacks X25519. `insecure`: the page was loaded without TLS, so the browser offers no
 * cryptography. `locked`: the vault locked during the operation. `failed`: any other fault.
 */
export type VaultCode = SealingCode | 'unsupported' | 'insecure' | 'locked' | 'failed'
export interface VaultRequest {
  number: number
  question: Question
}
export type Answered = { number: number } & ({ gives: unknown } | { refused: VaultCode })
