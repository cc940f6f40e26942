import { Problem } from '#lib/kernel/problem.ts'

/** A part of a document: a record as received, or the reason why it was skipped; or a member of the head. */
export type Piece =
  | { part: string; bytes: Uint8Array }
  | { part: string; fault: Problem }
  | { part: string; isIgnored: true }
  | { name: string; value: unknown }

/** Splits a document while it arrives; holds at most one record in memory. */
export interface Splitter {
  /**
   * Returns the pieces that these bytes complete.
   * @throws Problem `malformed_json`
   */
  feed(chunk: Uint8Array): Piece[]
  /**
   * Returns the remaining pieces.
   * @throws Problem `malformed_json` when the document is incomplete
   */
  end(): Piece[]
}
export interface SplitOptions {
  /** Maximum bytes of one record. */
  recordBytes: number
  isWanted(part: string): boolean
}

export const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

export const tooLarge = (limit: number) =>
  new Problem('too_large', `A record has more than ${limit.toLocaleString('en')} bytes; it was skipped.`)
export const broken = (detail: string) => new Problem('malformed_json', detail)
