import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode } from '#lib/kernel/error-code.ts'
import { hmac, isSameMac, type LedgerKey, type OpenedHead, openHead } from './ledger-head.ts'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/**
 * The form of a line: a checksum of the row, a space, the row. A line that a crash or a full disk cut short fails the checksum and is
 * omitted.
 */
export const lineOf = (row: string): string => `${digest(row)} ${row}\n`
/** The row of a line; undefined if its checksum does not match. */
function rowIn(line: string): string | undefined {
  const row = line.slice(17)
  return line.length > 17 && line.slice(0, 16) === digest(row) ? row : undefined
}

/** Characters per write. Each write is one system call, which writes of other processes cannot interrupt. */
const maxAtOnce = 256 * 1024

/** The lines, grouped for one write each. They begin with a line feed, because a crash or a full disk may have left a partial line. */
export function* writes(lines: readonly string[]): Iterable<Buffer> {
  let text = '\n'
  for (const line of lines) {
    if (text.length > 1 && text.length + line.length > maxAtOnce) {
      yield Buffer.from(text)
      text = '\n'
    }
    text += line
  }
  yield Buffer.from(text)
}

const newline = 0x0a
/** Complete lines from `offset` on, each with the offset after it. */
async function* completeLines(file: FileHandle, offset: number): AsyncIterable<{ line: string; end: number }> {
  let pending: Buffer[] = []
  let end = offset
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxAtOnce), 0, maxAtOnce, end)
    if (bytesRead === 0) return
    const from = end
    end += bytesRead
    let begin = 0
    for (let at = buffer.indexOf(newline); at >= 0 && at < bytesRead; at = buffer.indexOf(newline, begin)) {
      pending.push(buffer.subarray(begin, at))
      yield { line: Buffer.concat(pending).toString(), end: from + at + 1 }
      pending = []
      begin = at + 1
    }
    pending.push(buffer.subarray(begin, bytesRead))
  }
}

/**
 * What is wrong with a line or a file. `damaged`: the checksum does not match, as after a crash. The others do not happen by accident.
 * `foreign`: nobody with the installation's secret wrote it. `repeated`: a row of the same writer that belongs before it was read
 * already, so it was copied or moved. `altered`: rows before it were changed, removed or moved. `missing`: the file of a month that a
 * later row names. `unsealed`: the ledger has rows, and no head or the head of another secret.
 */
export type LedgerProblemKind = 'damaged' | 'foreign' | 'repeated' | 'altered' | 'missing' | 'unsealed'
export interface LedgerProblem {
  file: string
  kind: LedgerProblemKind
}
export const isAlteration = ({ kind }: LedgerProblem): boolean => kind !== 'damaged'

/** A position in the chain: the first `rows` accepted rows of a file have this hash. */
interface LedgerClaim {
  file: string
  rows: number
  hash: string
}

const Chain = z.object({
  /** The key's id. */
  k: z.string(),
  /** The writer, a random id of a process, and the row's number among its rows. */
  w: z.string(),
  s: z.number(),
  /** What the writer had read of this file: the number of rows, and their hash. */
  n: z.number(),
  h: z.string(),
  /** What it had read of the previous file, in the first row of a file. */
  p: z.tuple([z.string(), z.number(), z.string()]).optional(),
})
export type Chain = z.output<typeof Chain>

const link = /,"chain":(\{[^{}]*\}),"mac":"([\w-]{43})"\}$/
const signed = (ledgerId: string, file: string, body: string): string => `row ${ledgerId} ${file}\n${body}`

/** The JSON text of a row with its place in the chain, authenticated. */
export function linkedRow(row: object, chain: Chain, file: string, ledgerId: string, { key }: LedgerKey): string {
  const body = JSON.stringify({ ...row, chain }).slice(0, -1)
  return `${body},"mac":"${hmac(key, signed(ledgerId, file, body))}"}`
}

/** The place in the chain that a row states; empty if it states none. */
function linkIn(text: string): { chain?: Chain; mac?: string } {
  const [tail, chainText = '', mac = ''] = link.exec(text) ?? []
  if (tail === undefined) return {}
  try {
    return { chain: Chain.parse(JSON.parse(chainText)), mac }
  } catch {
    return {}
  }
}

/** Hashes that a claim may name: a writer reads the file before each write, so its claim is never far behind. */
const maxHashes = 65_536

const chainHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22)
const hashAtStart = (ledgerId: string, file: string): string => chainHash(`start ${ledgerId} ${file}`)

/** The accepted rows of one file, as a chain of hashes. */
class FileChain {
  readonly writers = new Map<string, number>()
  rows = 0
  private hashes: string[]
  private first = 0
  constructor(ledgerId: string, file: string) {
    this.hashes = [hashAtStart(ledgerId, file)]
  }
  get hash(): string {
    return this.hashes.at(-1) ?? ''
  }
  add(mac: string): void {
    this.hashes.push(chainHash(`${this.hash} ${mac}`))
    this.rows++
    if (this.hashes.length > 2 * maxHashes) {
      this.first += maxHashes
      this.hashes = this.hashes.slice(maxHashes)
    }
  }
  /** Whether the first rows have this hash. A claim that is too old to check is accepted. */
  contains(rows: number, hash: string): boolean {
    if (rows > this.rows) return false
    return rows < this.first || this.hashes[rows - this.first] === hash
  }
}

const isMonth = (name: string): boolean => /^\d{4}-\d{2}\.ledger$/.test(name)
/** The names in a folder; none if it does not exist. Throws if it cannot be read. */
export const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
/** The files of all months, oldest first. */
export const ledgerFiles = async (folder: string): Promise<string[]> => (await namesIn(folder)).filter(isMonth).sort()

/** SHA-256 of the first bytes of a file; undefined if it is shorter. */
export async function hashOfStart(path: string, bytes: number): Promise<string | undefined> {
  const hash = createHash('sha256')
  const file = await open(path, 'r')
  try {
    for (let at = 0; at < bytes; ) {
      const length = Math.min(1 << 20, bytes - at)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at)
      if (bytesRead === 0) return undefined
      hash.update(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
  } finally {
    await file.close()
  }
  return hash.digest('base64url')
}

/** Whether the file was removed because its retention ended. */
const isPruned = (file: string, { prunedBefore }: OpenedHead): boolean =>
  prunedBefore !== null && file < `${prunedBefore}.ledger`

/** Whether rows at this position are after the end of a former key. */
function hasEnded(key: string, { ended }: OpenedHead, file: string, end: number): boolean {
  const last = ended[key]
  return last !== undefined && (file > last.file || (file === last.file && end > last.bytes))
}

interface FileState {
  name: string
  chain: FileChain
  offset: number
  /** Bytes of rows from before authentication that are accepted. */
  sealedBytes: number
  isAltered: boolean
}

/** Reads the rows of a ledger in their order, checks each, and continues at the next call where the last one ended. */
export class LedgerScan {
  readonly #folder: string
  readonly #key: () => LedgerKey
  readonly #isFromNewest: boolean
  #head: OpenedHead | undefined
  #current: FileState | undefined
  #previous: FileState | undefined
  #found: LedgerProblem[] = []
  #marks = new Map<LedgerClaim, boolean>()

  /** @param isFromNewest begins with the last two files, which is all that a writer needs */
  constructor(folder: string, key: () => LedgerKey, isFromNewest = false) {
    this.#folder = folder
    this.#key = key
    this.#isFromNewest = isFromNewest
  }

  /** The problems found so far, except accepted ones. */
  get problems(): readonly LedgerProblem[] {
    return this.#found
  }
  get head(): OpenedHead | undefined {
    return this.#head
  }
  /** What was read of the newest file. */
  get claim(): LedgerClaim | undefined {
    return this.#current && { file: this.#current.name, rows: this.#current.chain.rows, hash: this.#current.chain.hash }
  }
  /** What was read of the newest file before this one. */
  claimBefore(file: string): LedgerClaim | undefined {
    const state = [this.#current, this.#previous].find((one) => one !== undefined && one.name < file)
    return state && { file: state.name, rows: state.chain.rows, hash: state.chain.hash }
  }
  /** The hash of a file without rows. */
  hashAtStart(file: string): string {
    return hashAtStart(this.#head?.id ?? '', file)
  }
  claimOf(file: string): LedgerClaim | undefined {
    return this.claim?.file === file ? this.claim : undefined
  }
  /** Call it before reading: afterwards, {@link hasMark} returns whether the ledger contains what the mark states. */
  watchFor(mark: LedgerClaim): void {
    this.#marks.set(mark, false)
  }
  hasMark(mark: LedgerClaim): boolean {
    return (this.#head && isPruned(mark.file, this.#head)) || this.#marks.get(mark) === true
  }

  /** @param file the file with the line that shows the problem, up to byte `end` */
  #report(file: string, kind: LedgerProblemKind, end: number, about = file): void {
    if (end <= (this.#head?.accepted[file] ?? -1)) return
    this.#found.push({ file: about, kind })
  }

  #seeMarks(): void {
    for (const mark of this.#marks.keys())
      if (mark.file === this.#current?.name && mark.rows === this.#current.chain.rows)
        this.#marks.set(mark, mark.hash === this.#current.chain.hash)
  }

  #reset(): void {
    this.#current = undefined
    this.#previous = undefined
    this.#found = []
    for (const mark of this.#marks.keys()) this.#marks.set(mark, false)
  }

  /** Opens the head. Returns false, with a problem, if the ledger has rows and no head of ours. */
  async #openHead(names: readonly string[]): Promise<boolean> {
    const head = await openHead(this.#folder, this.#key())
    if (head !== undefined && head !== 'foreign') {
      if (this.#head !== undefined && this.#head.id !== head.id) this.#reset()
      this.#head = head
      return true
    }
    this.#head = undefined
    this.#reset()
    const [file] = names
    if (head === 'foreign' || file !== undefined) this.#found = [{ file: file ?? 'ledger.head', kind: 'unsealed' }]
    return false
  }

  /** Files with rows from before authentication that do not exist. */
  #reportMissing(names: readonly string[], head: OpenedHead): void {
    this.#found = []
    for (const file of Object.keys(head.sealed))
      if (!names.includes(file) && !isPruned(file, head)) this.#report(file, 'missing', 0)
  }

  async #begin(name: string, head: OpenedHead): Promise<FileState> {
    const sealed = head.sealed[name]
    const isIntact = sealed && (await hashOfStart(join(this.#folder, name), sealed.bytes)) === sealed.hash
    const state: FileState = {
      name,
      chain: new FileChain(head.id, name),
      offset: 0,
      sealedBytes: isIntact ? sealed.bytes : 0,
      isAltered: false,
    }
    if (sealed && !isIntact) this.#report(name, 'altered', sealed.bytes)
    return state
  }

  #altered(state: FileState, end: number): void {
    // Every later row of the file would say the same.
    if (state.isAltered || end <= (this.#head?.accepted[state.name] ?? -1)) return
    state.isAltered = true
    this.#report(state.name, 'altered', end)
  }

  /** Compares what the writer had read of the previous file with that file. */
  #checkPrevious([file, rows, hash]: NonNullable<Chain['p']>, state: FileState, head: OpenedHead, end: number): void {
    if (this.#previous?.name === file) {
      if (!this.#previous.chain.contains(rows, hash)) this.#altered(state, end)
    } else if (
      !this.#isFromNewest &&
      (this.#previous === undefined || this.#previous.name < file) &&
      !isPruned(file, head)
    )
      this.#report(state.name, 'missing', end, file)
  }

  /** The text of an accepted row; undefined for a refused one. */
  #accepted(state: FileState, head: OpenedHead, line: string, end: number): string | undefined {
    const text = rowIn(line)
    if (text === undefined) {
      this.#report(state.name, 'damaged', end)
      return undefined
    }
    if (end <= state.sealedBytes) {
      state.chain.add(line.slice(0, 16))
      return text
    }
    const { chain, mac = '' } = linkIn(text)
    const key = chain && !hasEnded(chain.k, head, state.name, end) ? head.keys.get(chain.k) : undefined
    const body = text.slice(0, text.length - mac.length - 10)
    if (!chain || !key || !isSameMac(mac, hmac(key, signed(head.id, state.name, body)))) {
      this.#report(state.name, 'foreign', end)
      return undefined
    }
    if ((state.chain.writers.get(chain.w) ?? -1) >= chain.s) {
      this.#report(state.name, 'repeated', end)
      return undefined
    }
    state.chain.writers.set(chain.w, chain.s)
    if (!state.chain.contains(chain.n, chain.h)) this.#altered(state, end)
    if (chain.p) this.#checkPrevious(chain.p, state, head, end)
    state.chain.add(mac)
    return text
  }

  /** Whether the files read so far are still the ones that were read. */
  async #isContinued(names: readonly string[]): Promise<boolean> {
    const { name, offset } = this.#current ?? { name: '', offset: 0 }
    if (name === '') return true
    return names.includes(name) && (await stat(join(this.#folder, name))).size >= offset
  }

  /**
   * The text of each accepted row after the last one that was read. If the files are not those that were read before, it begins again.
   * Call it only again after it ended.
   */
  async *rows(): AsyncGenerator<{ file: string; text: string }> {
    const names = await ledgerFiles(this.#folder)
    if (!(await this.#openHead(names)) || this.#head === undefined) return
    const head = this.#head
    if (!(await this.#isContinued(names))) this.#reset()
    if (!this.#current) this.#reportMissing(names, head)
    const first = this.#isFromNewest && this.#current === undefined ? names.at(-2) : undefined
    for (const name of names) {
      if (name < (this.#current?.name ?? first ?? '')) continue
      if (this.#current?.name !== name) {
        this.#previous = this.#current
        this.#current = await this.#begin(name, head)
      }
      const state = this.#current
      if (!state) continue
      this.#seeMarks()
      const file = await open(join(this.#folder, name), 'r')
      try {
        for await (const { line, end } of completeLines(file, state.offset)) {
          state.offset = end
          const text = line === '' ? undefined : this.#accepted(state, head, line, end)
          if (text === undefined) continue
          this.#seeMarks()
          yield { file: name, text }
        }
      } finally {
        await file.close()
      }
    }
  }

  /** Reads everything again. */
  async restart(): Promise<void> {
    this.#reset()
    await this.finish()
  }

  /** Reads to the end without looking at the rows. */
  async finish(): Promise<void> {
    for await (const _ of this.rows());
  }
}
