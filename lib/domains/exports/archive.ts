import { createHash } from 'node:crypto'
import { configure, TextReader, ZipWriter } from '@zip.js/zip.js'
import { csvCell, csvStart } from '#lib/domains/audit/rules.ts'
import { webStream } from '#lib/kernel/web-stream.ts'
import type { ExportPart } from './document.ts'
import { type IndexCollector, type IndexHead, type IndexLanguage, indexCollector, indexPage } from './readable-index.ts'
import { schemaVersion } from './rules.ts'

configure({ useWebWorkers: false })

/** First members of the manifest: when the document was made, and its schema version. */
interface ArchiveHead extends IndexHead {
  exported_at: string
  schema_version: string
}
/** Called with the progress of the archive. An exception aborts the archive. */
interface Watch {
  part(records: number): void
}

/** A file that is added to the archive unchanged. */
export interface ArchiveFile {
  name: string
  /** Undefined when the file no longer exists; it is then omitted. */
  bytes(): Promise<AsyncIterable<Uint8Array> | undefined>
}

interface ArchiveOptions {
  watch?: Watch
  given?: AsyncIterable<ArchiveFile> | undefined
  /** The language of index.html. */
  locale?: IndexLanguage
}
interface FileFacts {
  records: number
  bytes: number
  sha256: string
}

/** Formats a CSV cell: strings unchanged, other values as JSON. */
const cellOf = (value: unknown): string =>
  value === null || value === undefined ? '' : csvCell(typeof value === 'string' ? value : JSON.stringify(value))

/** RFC 4180. The columns are the members of the first record; all records of a part have the same members. */
async function* csvOf(part: ExportPart): AsyncGenerator<[string, number]> {
  let columns: string[] | undefined
  for await (const { lines, count } of part.pages()) {
    const records: Record<string, unknown>[] = lines.split('\n').map((line) => JSON.parse(line))
    const head = columns === undefined
    columns ??= Object.keys(records[0] ?? {})
    const names = columns
    const rows = records.map((record) => names.map((name) => cellOf(record[name])).join(','))
    yield [`${head ? `${csvStart}${names.join(',')}\r\n` : ''}${rows.join('\r\n')}\r\n`, count]
  }
}
async function* jsonOf(part: ExportPart, index: IndexCollector): AsyncGenerator<[string, number]> {
  let total = 0
  index.begin(part.name)
  for await (const { lines, count } of part.pages()) {
    index.add(lines, count)
    yield [`${total === 0 ? '[\n' : ',\n'}${lines.replaceAll('\n', ',\n')}`, count]
    total += count
  }
  yield [total === 0 ? '[]\n' : '\n]\n', 0]
}

async function* asTexts(texts: Iterable<string>): AsyncGenerator<[string, number]> {
  for (const text of texts) yield [text, 0]
}

async function* asPieces(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<[Uint8Array, number]> {
  for await (const piece of bytes) yield [piece, 0]
}

/** Names of devices, which Windows reserves with any ending, also after spaces. */
const device =
  /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$) {0,99}(?:\.|$)/i
const longestName = 100
/** The text without dots and spaces at its end. */
function withoutDots(text: string): string {
  let end = text.length
  while (text[end - 1] === '.' || text[end - 1] === ' ') end -= 1
  return text.slice(0, end)
}
/** A segment of a path that every file system accepts. */
function portableSegment(segment: string): string {
  const safe = segment.normalize('NFC').replace(/[<>:"|?*\\\p{Cc}]/gu, '_')
  const stem = withoutDots(safe)
  const plain = stem === safe ? safe : `${stem}_`
  const named = device.test(plain) || plain === '' ? `_${plain}` : plain
  if (named.length <= longestName) return named
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(named)?.[0] ?? ''
  return `${withoutDots(named.slice(0, longestName - ending.length).replace(/[\uD800-\uDBFF]$/, ''))}${ending}`
}
/**
 * Gives each file of an archive a name that Windows, macOS and Linux can unpack: without reserved characters, names and endings, and
 * different from every other name in any case.
 */
export function portableNames(): (name: string) => string {
  const used = new Set<string>()
  return (name) => {
    const path = name
      .split('/')
      .filter((segment) => segment !== '')
      .map(portableSegment)
      .join('/')
    const dot = path.lastIndexOf('.') > path.lastIndexOf('/') + 1 ? path.lastIndexOf('.') : path.length
    let free = path
    for (let n = 2; used.has(free.toLowerCase()); n += 1) free = `${path.slice(0, dot)} (${n})${path.slice(dot)}`
    used.add(free.toLowerCase())
    return free
  }
}

/**
 * Streams a ZIP: each part as JSON and, if it has records, as CSV, then the given files, then index.html for reading and
 * manifest.json with counts and hashes.
 * A part is read twice, so its two files can differ by records that were erased meanwhile; the manifest describes each
 * file.
 */
export async function* zipArchive(
  head: ArchiveHead,
  parts: readonly ExportPart[],
  { watch, given, locale = 'en' }: ArchiveOptions = {},
): AsyncGenerator<Uint8Array> {
  const files: Record<string, FileFacts> = {}
  const index = indexCollector()
  const portable = portableNames()
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const zip = new ZipWriter<unknown>(writable, { lastModDate: new Date(head.exported_at), extendedTimestamp: true })

  async function add(given: string, pieces: AsyncIterable<[string | Uint8Array, number]>): Promise<number> {
    const name = portable(given)
    const hash = createHash('sha256')
    const facts = { records: 0, bytes: 0 }
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const [piece, records] of pieces) {
        const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
        hash.update(bytes)
        facts.bytes += bytes.byteLength
        facts.records += records
        yield bytes
      }
    }
    await zip.add(name, webStream(counted()))
    files[name] = { ...facts, sha256: hash.digest('hex') }
    return facts.records
  }
  async function write(): Promise<void> {
    for (const part of parts) {
      const records = await add(`${part.name}.json`, jsonOf(part, index))
      if (records > 0) await add(`${part.name}.csv`, csvOf(part))
      watch?.part(records)
    }
    for await (const file of given ?? []) {
      const bytes = await file.bytes()
      if (bytes) await add(file.name, asPieces(bytes))
    }
    await add('index.html', asTexts(indexPage(locale, head, index.parts)))
    const manifest = JSON.stringify({ ...head, files }, null, 2)
    await zip.add('manifest.json', new TextReader(`${manifest}\n`))
    await zip.close()
  }
  const written = write()
  // An error aborts the transfer, so that no reader takes the partial archive for complete.
  written.catch((error: unknown) => writable.abort(error).catch(() => {}))
  let isWhole = false
  try {
    for await (const piece of readable) yield piece
    isWhole = true
  } finally {
    // After an early end, waits until the current write stops, ignoring its error.
    await (isWhole ? written : written.catch(() => {}))
  }
}

/** The archive of an export of another domain, with files that it contains. */
export const exportShapes = {
  schemaVersion,
  zip: (head: ArchiveHead, parts: readonly ExportPart[], given: NonNullable<ArchiveOptions['given']>) =>
    zipArchive(head, parts, { given }),
}
