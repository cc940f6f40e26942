import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import type { SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { TextScanner } from '#lib/domains/pii/streaming.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { exitCodes, Failure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import type { CommandSession } from './session.ts'

interface ScanOptions {
  redact?: boolean
  strategy?: boolean
}
/** Source code, configuration and logs. */
const codeFile =
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|rb|go|rs|java|kt|scala|cs|[ch](?:pp|xx)?|cc|hh|swift|php|pl|lua|r|sql|sh|ps1|json5?|ya?ml|toml|ini|cfg|conf|env|properties|xml|html?|css|scss|tf|hcl|log|lock)$/i

interface FindingLocation {
  line: number
  column: number
}

/** Tracks line and column (both from 1, columns in UTF-16 units) in streamed text. */
function ruler() {
  let [line, lineStart, passed] = [1, 0, 0]
  return {
    /** Returns line and column of each offset in the next part of the text. `starts` are offsets in the part, ascending. */
    places(text: string, starts: readonly number[]): FindingLocation[] {
      const locations: FindingLocation[] = []
      let at = 0
      const upTo = (end: number) => {
        for (let next = text.indexOf('\n', at); next >= 0 && next < end; next = text.indexOf('\n', next + 1)) {
          line += 1
          lineStart = passed + next + 1
          at = next + 1
        }
        at = Math.max(at, end)
      }
      for (const start of starts) {
        upTo(start - passed)
        locations.push({ line, column: start - lineStart + 1 })
      }
      upTo(text.length)
      passed += text.length
      return locations
    },
  }
}

async function* textOf({ stdin }: Invocation, path: string): AsyncGenerator<string> {
  const stream = path === '-' ? stdin : createReadStream(path)
  stream.setEncoding('utf8')
  try {
    for await (const chunk of stream) yield String(chunk)
  } catch (error) {
    throw new Failure(
      'not_readable',
      `${path} cannot be read (${errorCode(error) ?? 'unknown fault'}). Nothing was changed.`,
      {
        advice: 'Give a text file, or - for standard input.',
      },
    )
  }
}

async function scanFile(
  session: CommandSession,
  path: string,
  { redact = false, strategy = false }: ScanOptions,
): Promise<void> {
  const { invocation, terminal } = session
  const { stdout } = invocation
  const scanner = new TextScanner({ strategy, isCode: codeFile.test(path) })
  const rule = ruler()
  const all: (SensitiveFinding & FindingLocation)[] = []
  const told = { block: 0, redact: 0 }
  const take = async ({ text, redacted, findings }: ReturnType<TextScanner['push']>) => {
    const locations = rule.places(
      text,
      findings.map(({ start }) => start),
    )
    for (const [index, finding] of findings.entries()) {
      const { line = 0, column = 0 } = locations[index] ?? {}
      told[finding.action] += 1
      if (terminal.json) all.push({ ...finding, line, column })
      else if (!redact)
        terminal.line(
          (finding.action === 'block' ? terminal.bad : terminal.warn)(finding.kind.padEnd(17)),
          `${line}:${column}`.padEnd(12),
          finding.action,
        )
    }
    if (redact && !terminal.json && !stdout.write(redacted)) await once(stdout, 'drain')
  }
  for await (const chunk of textOf(invocation, session.pathOf(path))) await take(scanner.push(chunk))
  await take(scanner.end())
  terminal.document({ data: { findings: all } })
  terminal.note(
    told.block + told.redact === 0
      ? 'No secrets or personal data were found.'
      : `${told.block} to block, ${told.redact} to redact.`,
  )
  if (told.block > 0) invocation.setExitCode(exitCodes.failed)
}

/** Secrets and personal data in files: pii scan. */
export function piiCommands(program: Command, begin: () => CommandSession): void {
  const pii = program
    .command('pii')
    .summary('find secrets and personal data in texts')
    .description('Finds secrets and personal data in texts. Nothing is sent.\n\nExample:\n  kp pii scan notes.md')
  pii
    .command('scan')
    .summary('scan a file; nothing is sent')
    .description(
      'Scans a file of any size. Prints the kind of each finding, its position as line:column, and the action: "block" (private keys, seed phrases) or "redact". It never prints the found text. To detect names and postal addresses, use the registry’s analyzer: POST /v1/pii/scan. Exit code 1 if a finding has the action "block".\n\nExample:\n  kp pii scan notes.md\n  kp pii scan --redact log.txt > clean.txt\n  git diff | kp pii scan -',
    )
    .argument('<file>', 'a file of text, or - for standard input')
    .option('--redact', 'print the text with each finding replaced, for example by ‹email:1›')
    .option('--strategy', 'also sizes of positions, entry and exit prices')
    .action((file: string, options: ScanOptions) => scanFile(begin(), file, options))
}
