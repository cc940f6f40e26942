import { withoutPlaceholders } from './code-places.ts'
import type { Finding } from './findings.ts'
import { numbering, redact } from './redaction.ts'
import { type ScanOptions, scan } from './scanner.ts'

/** The longest of what is looked for, a PEM key, with room around it: what begins so near to the end may go on in the next chunk. */
const ahead = 32 * 1024
/** What is looked at before a place to judge it. */
const behind = 4 * 1024
/** How much is collected before it is looked through. */
const portion = 256 * 1024

/** What is known of the next part of a text. */
export interface Scanned {
  /** The text as it came; `redacted` is the same with what was found replaced. Together all parts are the whole text. */
  text: string
  redacted: string
  /** Offsets in the whole text. */
  findings: Finding[]
}

/**
 * {@link scan} for text that comes in chunks of any size, cut anywhere: the same findings as of the whole, with memory for a portion and
 * not for the text. One value has one number through all of it.
 */
export class TextScanner {
  readonly #options: ScanOptions
  readonly #isCode: boolean
  readonly #number = numbering()
  /** What was told already and is looked at only as what stands before. */
  #told = 0
  #buffer = ''
  /** Where the buffer begins in the whole text. */
  #offset = 0

  /** `isCode`: the text is code, configuration or a log, in which findings of low confidence are reported and not redacted. */
  constructor({ isCode = false, ...options }: ScanOptions & { isCode?: boolean } = {}) {
    this.#options = options
    this.#isCode = isCode
  }

  /** Takes a chunk; gives what is settled by now. */
  push(chunk: string): Scanned {
    this.#buffer += chunk
    return this.#buffer.length - this.#told < portion + ahead
      ? { text: '', redacted: '', findings: [] }
      : this.#tell(this.#buffer.length - ahead)
  }
  /** The rest, after the last chunk. */
  end(): Scanned {
    return this.#tell(this.#buffer.length)
  }

  #tell(until: number): Scanned {
    const told = this.#told
    const all = scan(this.#buffer, this.#options).filter(({ start }) => start >= told && start < until)
    // What began before the border is told whole; a pair of surrogates is not parted.
    let border = Math.max(until, all.at(-1)?.end ?? 0)
    const code = this.#buffer.charCodeAt(border - 1)
    if (border < this.#buffer.length && code >= 0xd800 && code < 0xdc00) border += 1
    const text = this.#buffer.slice(told, border)
    const local = all.map((one) => ({ ...one, start: one.start - told, end: one.end - told }))
    const replaced = this.#isCode ? withoutPlaceholders(text, local, true) : local
    const redacted = redact(text, replaced, this.#number).text
    const findings = all.map((one) => ({ ...one, start: one.start + this.#offset, end: one.end + this.#offset }))
    const keep = Math.max(0, border - behind)
    this.#buffer = this.#buffer.slice(keep)
    this.#told = border - keep
    this.#offset += keep
    return { text, redacted, findings }
  }
}
