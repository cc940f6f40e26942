import { withoutPlaceholders } from './code-places.ts'
import type { SensitiveFinding } from './findings.ts'
import { numbering, redact } from './redaction.ts'
import { type ScanOptions, scan } from './scanner.ts'
import type { SecretColumns } from './secrets/columns.ts'

/** Maximum length of a finding (a PEM key) with a margin: a finding that starts this close to the end may continue in the next chunk. */
const ahead = 32 * 1024
/** Characters of context needed before a position. */
const behind = 4 * 1024
/** Characters collected before a scan. */
const portion = 256 * 1024

/** Result for the next part of a text. */
export interface Scanned {
  /** The text as received, and with findings replaced. All parts together are the entire text. */
  text: string
  redacted: string
  /** Offsets in the entire text. */
  findings: SensitiveFinding[]
}

/**
 * Applies {@link scan} to text that arrives in arbitrary chunks: same findings as for the entire text, with memory for one portion. A value
 * has the same number throughout.
 */
export class TextScanner {
  readonly #options: ScanOptions
  readonly #isCode: boolean
  readonly #number = numbering()
  /** Length of the buffer's beginning that was already returned and is only kept as context. */
  #told = 0
  #buffer = ''
  /** Offset of the buffer in the entire text. */
  #offset = 0
  /** Whether the buffer begins within the text, and not with the names of the columns of its first rows. */
  #isContinued = false

  /** `isCode`: the text is code, configuration or a log, in which findings of low confidence are reported but not redacted. */
  constructor({ isCode = false, ...options }: ScanOptions & { isCode?: boolean } = {}) {
    this.#options = options
    this.#isCode = isCode
  }

  /** Adds a chunk; returns the part whose findings are final. */
  push(chunk: string): Scanned {
    this.#buffer += chunk
    return this.#buffer.length - this.#told < portion + ahead
      ? { text: '', redacted: '', findings: [] }
      : this.#tell(this.#buffer.length - ahead)
  }
  /** Returns the rest after the last chunk. */
  end(): Scanned {
    return this.#tell(this.#buffer.length)
  }

  #tell(until: number): Scanned {
    const reported = this.#told
    const tables: SecretColumns[] = []
    const piece = { isContinued: this.#isContinued, onColumns: (columns: SecretColumns) => tables.push(columns) }
    const all = scan(this.#buffer, this.#options, piece).filter(({ start }) => start >= reported && start < until)
    // Include all of a finding that started before the border, and do not split a surrogate pair.
    let border = Math.max(until, all.at(-1)?.end ?? 0)
    const code = this.#buffer.charCodeAt(border - 1)
    if (border < this.#buffer.length && code >= 0xd800 && code < 0xdc00) border += 1
    const text = this.#buffer.slice(reported, border)
    const local = all.map((one) => ({ ...one, start: one.start - reported, end: one.end - reported }))
    const replaced = this.#isCode ? withoutPlaceholders(text, local, true) : local
    const redacted = redact(text, replaced, this.#number).text
    const findings = all.map((one) => ({ ...one, start: one.start + this.#offset, end: one.end + this.#offset }))
    const keep = Math.max(0, border - behind)
    // Rows need the names of their columns.
    const open = tables.find(({ headEnd, end }) => headEnd <= keep && end > keep)
    const row = open?.rows.findLast((start) => start <= keep)
    const head = open && row !== undefined ? this.#buffer.slice(open.start, open.headEnd) : ''
    const from = head === '' ? keep : (row ?? keep)
    this.#isContinued = head === '' && (from > 0 || this.#isContinued)
    this.#buffer = head + this.#buffer.slice(from)
    this.#told = border - from + head.length
    this.#offset += from - head.length
    return { text, redacted, findings }
  }
}
