import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Command } from 'commander'
import { Option } from 'commander'
import { bases, exportAgent, formats } from '#lib/domains/exports/contract.ts'
import { readSelf } from '#lib/domains/tokens/contract.ts'
import { errorCode } from '#lib/stores/postgres/fault.ts'
import { Failure, usageFailure } from './failure.ts'
import type { Session } from './session.ts'

type Format = (typeof formats)[number]
interface ExportOptions {
  output: string
  format?: Format
  scope: (typeof bases)[number]
  force?: boolean
}

const brokenOff = (file: string) =>
  new Failure('broken_off', `The export broke off before it was whole; ${file} was not written.`, {
    advice: 'Run it again.',
  })

/** What an export ends with when it is whole. */
const isEnd: Record<Format, (tail: Buffer) => boolean> = {
  json: (tail) => tail.toString('latin1').trimEnd().endsWith('}'),
  ndjson: (tail) => /\}\n?$/.test(tail.toString('latin1')),
  zip: (tail) => tail.includes(Buffer.from([0x50, 0x4b, 5, 6])), // end of central directory (APPNOTE 4.3.16)
}

/** Writes the stream to a file that its owner alone may read, and gives how many bytes came. Throws where it breaks off. */
async function receive(
  response: Response,
  file: string,
  format: Format,
  tell: (bytes: number) => void,
): Promise<number> {
  const handle = await open(file, 'wx', 0o600)
  let bytes = 0
  let tail = Buffer.alloc(0)
  try {
    for await (const piece of response.body ?? []) {
      await handle.write(piece)
      bytes += piece.byteLength
      tail = Buffer.concat([tail, piece.subarray(-64)]).subarray(-64)
      tell(bytes)
    }
    await handle.sync()
  } catch (error) {
    if (error instanceof TypeError) throw brokenOff(file) // fetch's word for a connection that ended
    throw error
  } finally {
    await handle.close()
  }
  if (!isEnd[format](tail)) throw brokenOff(file)
  return bytes
}

/** Puts the finished file in its place; without force never over one that is there. */
function putInPlace(unfinished: string, file: string, force: boolean): void {
  if (force) {
    renameSync(unfinished, file)
    return
  }
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (errorCode(error) === 'EEXIST')
      throw usageFailure(`${file} exists already. Choose another name, or add --force.`)
    throw error
  }
  rmSync(unfinished)
}

const formatOf = (output: string, given: Format | undefined): Format =>
  given ?? formats.find((format) => output.toLowerCase().endsWith(`.${format}`)) ?? 'json'
export const sizeOf = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`

async function exportAll(session: Session, agent: string, options: ExportOptions): Promise<void> {
  const { terminal } = session
  const file = session.pathOf(options.output)
  if (existsSync(file) && !options.force)
    throw usageFailure(
      `${options.output} exists already; nothing was exported.`,
      'Choose another name, or add --force.',
    )
  const format = formatOf(options.output, options.format)
  const self = agent === 'me' ? (await session.call(readSelf)).body.data.agent_id : agent
  if (self === null) throw new Failure('not_an_agent', 'This token belongs to no agent; name the agent to export.')
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.part`
  const leave = (signal: NodeJS.Signals) => {
    rmSync(unfinished, { force: true })
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  process.once('SIGINT', leave).once('SIGTERM', leave)
  try {
    const response = await session.stream(exportAgent, {
      params: { agent_id: self },
      query: { format, scope: options.scope },
    })
    const bytes = await receive(response, unfinished, format, (so) => terminal.progress(`Exporting: ${sizeOf(so)}`))
    putInPlace(unfinished, file, options.force ?? false)
    terminal.clear()
    terminal.document({ data: { agent_id: self, format, scope: options.scope, file, bytes } })
    terminal.line(terminal.good('✓ '), `${self}: ${sizeOf(bytes)} in ${options.output} (${format}, ${options.scope})`)
    terminal.note('It holds personal data; you alone may read the file.')
  } finally {
    terminal.clear()
    process.off('SIGINT', leave).off('SIGTERM', leave)
    rmSync(unfinished, { force: true })
  }
}

/** Exports: export. */
export function exportCommands(program: Command, begin: () => Session): void {
  program
    .command('export')
    .summary('write everything held on an agent into a file')
    .description(
      'Writes everything that the registry holds on an agent into a file that you alone may read: its units and those attributed to it, skills, votes, tokens and the rest. The file is there whole or not at all.\n\nExample:\n  kp export me --output me.json\n  kp export me --scope provided --output me.zip',
    )
    .argument('<agent>', 'an agent’s id, or me')
    .requiredOption('--output <file>', 'where to write it')
    .addOption(
      new Option('--format <format>', 'its form (default: as the file’s name ends, else json)').choices(formats),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        'provided: what was contributed (GDPR art. 20); all: what was derived too (art. 15)',
      )
        .choices(bases)
        .default('all'),
    )
    .option('--force', 'replace a file that is there already')
    .action((agent: string, options: ExportOptions) => exportAll(begin(), agent, options))
}
