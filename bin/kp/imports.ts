import { createReadStream, openSync, readSync, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import { Option } from 'commander'
import { type ImportReport, importDocument } from '#lib/domains/exports/contract.ts'
import { exitCodes, usageFailure } from './failure.ts'
import { printedSize } from './receiving.ts'
import type { CommandSession } from './session.ts'

const mediaTypes = { json: 'application/json', ndjson: 'application/x-ndjson' } as const
type Format = keyof typeof mediaTypes

/** Maximum number of failed items that are listed. --json lists all. */
const maxListed = 20
const headBytes = 64 * 1024

/**
 * The format by file name, otherwise by the first line: in NDJSON it is a complete record. A member `data` contains the export of the
 * open-source registry.
 */
export function formatOf(name: string, head: string): Format {
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return 'ndjson'
  if (/\.json$/i.test(name)) return 'json'
  const end = head.indexOf('\n')
  try {
    const first: unknown = JSON.parse(end < 0 ? head : head.slice(0, end))
    return typeof first === 'object' && first !== null && !('knowledge_units' in first || 'data' in first)
      ? 'ndjson'
      : 'json'
  } catch {
    return 'json'
  }
}

function headOf(file: string): string {
  const buffer = Buffer.alloc(headBytes)
  const descriptor = openSync(file, 'r')
  return buffer.subarray(0, readSync(descriptor, buffer)).toString('utf8')
}

/** Streams the source, and reports the bytes sent. */
function counted(source: Readable, report: (bytes: number) => void): ReadableStream<Uint8Array> {
  const pieces = source[Symbol.asyncIterator]()
  let bytes = 0
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) {
        controller.close()
        return
      }
      const chunk: Uint8Array = typeof value === 'string' ? Buffer.from(value) : value
      bytes += chunk.byteLength
      report(bytes)
      controller.enqueue(chunk)
    },
    cancel() {
      source.destroy()
    },
  })
}

function tellReport(
  { terminal }: CommandSession,
  { received, stored, known, failed, ignored, results }: ImportReport,
): void {
  const bad = results.filter(({ status }) => status === 'failed')
  for (const { id, code, detail } of bad.slice(0, maxListed))
    terminal.line(terminal.bad('✗ '), `${id ?? 'an item without an id'}: ${detail ?? code ?? 'it was refused'}`)
  if (bad.length > maxListed) terminal.note(`${bad.length - maxListed} more failed; --json names them.`)
  const left = Object.entries(ignored).map(([part, count]) => `${part} (${count})`)
  if (left.length > 0) terminal.note(`Not imported, because each registry has its own: ${left.join(', ')}.`)
  terminal.line(
    failed === 0 ? terminal.good('✓ ') : terminal.warn('! '),
    `${received} items: ${stored} stored, ${known} already stored, ${failed} failed.`,
  )
}

async function importAll(session: CommandSession, path: string, given: Format | undefined): Promise<void> {
  const { invocation, terminal } = session
  const file = session.pathOf(path)
  const isStdin = path === '-'
  if (isStdin && invocation.stdin.isTTY) throw usageFailure('No export was piped to standard input.')
  if (/\.zip$/i.test(file))
    throw usageFailure(
      'A ZIP cannot be imported. Nothing was sent.',
      'Export it as json or ndjson (kp export --format).',
    )
  if (isStdin && given === undefined)
    throw usageFailure('Standard input requires --format json or ndjson. Nothing was sent.')
  const size = isStdin ? undefined : statSync(file).size
  const format = given ?? formatOf(file, headOf(file))
  let isSent = false
  const body = () => {
    if (isStdin && isSent) throw usageFailure('Standard input cannot be read twice. Run it again in a minute.')
    isSent = true
    const report = (bytes: number) =>
      terminal.progress(
        bytes === size ? 'Sent; the registry is storing it' : `Importing: ${printedSize(bytes)}`,
        size && bytes < size ? bytes / size : undefined,
      )
    return {
      mediaType: mediaTypes[format],
      bytes: counted(isStdin ? invocation.stdin : createReadStream(file), report),
    }
  }
  const { body: answer } = await session.upload(importDocument, body).finally(terminal.clear)
  terminal.document(answer)
  tellReport(session, answer.data)
  if (answer.data.failed > 0) invocation.setExitCode(exitCodes.failed)
}

/** Imports: import. */
export function importCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('import')
    .summary('import an export of another registry')
    .description(
      'Imports units and skills from an export (json or ndjson). They keep their ids and become yours. Existing and erased items are skipped, and failed items are listed. Up to 250,000 items per import. Repeating an import stores nothing twice.\n\nExample:\n  kp import me.json\n  gunzip -c old.ndjson.gz | kp import - --format ndjson',
    )
    .argument('<file>', 'an export, or - for standard input')
    .addOption(
      new Option('--format <format>', 'the format, if the file’s extension does not show it').choices(
        Object.keys(mediaTypes),
      ),
    )
    .action((file: string, options: { format?: Format }) => importAll(begin(), file, options.format))
}
