import { on } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { styleText } from 'node:util'
import { exitCodes, Failure, type PrintedError } from './failure.ts'
import type { Invocation, OutputStream } from './invocation.ts'
import { progressBar } from './progress-bar.ts'
import { jsonText, visible } from './visible-text.ts'

type Streams = Pick<Invocation, 'stdin' | 'stderr'>

/** Asks on the terminal. Ctrl-C and Ctrl-D return an empty answer, and later output starts on a new line. */
async function ask({ stdin, stderr }: Streams, question: string): Promise<string> {
  const reader = createInterface({ input: stdin, output: stderr })
  const left = new Promise<string>((done) =>
    reader.once('close', () => {
      if (!isAnswered) stderr.write('\n')
      done('')
    }),
  )
  let isAnswered = false
  const answered = reader.question(`${visible(question)} `).then((text) => {
    isAnswered = true
    return text
  })
  try {
    return (await Promise.race([answered, left])).trim()
  } finally {
    reader.close()
  }
}

/** Asks on the terminal without echo. Ctrl-C and Ctrl-D return an empty answer. */
async function askSecretly({ stdin, stderr }: Streams, question: string): Promise<string> {
  // Before the question: otherwise a fast answer would be echoed.
  stdin.setRawMode?.(true)
  stdin.setEncoding('utf8').resume()
  stderr.write(`${visible(question)} `)
  let typed: string[] = []
  try {
    for await (const [piece] of on(stdin, 'data'))
      for (const character of String(piece)) {
        if (character === '\r' || character === '\n') return typed.join('')
        if (character === '\u0003' || character === '\u0004') return ''
        if (character === '\u007f' || character === '\b') typed = typed.slice(0, -1)
        else if (character === '\u0015') typed = []
        else typed.push(character)
      }
    return ''
  } finally {
    stdin.setRawMode?.(false)
    stdin.pause()
    stderr.write('\n')
  }
}

/** Sanitized text that may contain colours. Plain strings are sanitized when they are printed. */
class Painted {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
export type Printable = string | Painted
type Paint = 'bold' | 'dim' | 'green' | 'red' | 'yellow'

export interface TerminalOptions {
  json: boolean
  quiet: boolean
  color: boolean
}

const widthOf = (text: string): number => [...text].length

/** Rows as lines whose columns are as wide as their widest cell. */
function inColumns(rows: readonly (readonly string[])[]): string[] {
  const most = Math.max(0, ...rows.map((row) => row.length))
  const widths = Array.from({ length: most }, (_, at) => Math.max(0, ...rows.map((row) => widthOf(row[at] ?? ''))))
  return rows.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell + ' '.repeat((widths[at] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd(),
  )
}

/** All output passes through {@link visible}. */
export function openTerminal(
  { stdin, stdout, stderr }: Pick<Invocation, 'stdin' | 'stdout' | 'stderr'>,
  { json, quiet, color }: TerminalOptions,
) {
  const inColor = (stream: OutputStream) => color && stream.isTTY === true
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true
  let hasProgress = false

  const paint =
    (name: Paint) =>
    (text: string): Painted =>
      new Painted(inColor(stdout) ? styleText(name, visible(text), { validateStream: false }) : visible(text))
  const plain = (part: Printable): string => (part instanceof Painted ? part.text : visible(part))
  const clear = () => {
    if (hasProgress) stderr.write('\r\u001b[K')
    hasProgress = false
  }
  const write = (stream: OutputStream, parts: readonly Printable[]) => {
    clear()
    stream.write(`${parts.map(plain).join('')}\n`)
  }

  return {
    json,
    isInteractive,
    bold: paint('bold'),
    dim: paint('dim'),
    good: paint('green'),
    bad: paint('red'),
    warn: paint('yellow'),
    /** Prints a line of the result. */
    line(...parts: Printable[]): void {
      if (!json) write(stdout, parts)
    },
    /** Prints a remark on stderr. */
    note(...parts: Printable[]): void {
      if (!quiet && !json) write(stderr, parts)
    },
    /** Prints a warning on stderr, also for scripts. */
    warning(text: string): void {
      write(stderr, [
        inColor(stderr) ? new Painted(styleText('yellow', visible(text), { validateStream: false })) : text,
      ])
    },
    /** Prints the result as one JSON document, with --json. */
    document(value: unknown): void {
      if (!json) return
      clear()
      stdout.write(`${jsonText(value)}\n`)
    },
    /** Prints columns as wide as their widest cell, with --quiet without the header. */
    table(head: readonly string[], rows: readonly (readonly string[])[]): void {
      if (json) return
      const cells = [...(quiet ? [] : [head]), ...rows].map((row) => row.map(visible))
      for (const [index, text] of inColumns(cells).entries())
        write(stdout, [index === 0 && !quiet ? paint('bold')(text) : text])
    },
    /** Replaces the progress line, on terminals only. With a bar when `share` (0–1) is given. */
    progress(text: string, share?: number | undefined): void {
      if (quiet || json || stderr.isTTY !== true) return
      const shown = share === undefined ? `${visible(text)} …` : `${progressBar(share)} ${visible(text)}`
      stderr.write(`\r\u001b[K${shown.slice(0, Math.max(20, (stderr.columns || 80) - 1))}`)
      hasProgress = true
    },
    /** Highlights parts of a text. Offsets count UTF-16 units; invalid ones are ignored. */
    marked(text: string, parts: readonly { start: number; end: number }[]): Printable {
      const pieces: string[] = []
      let at = 0
      for (const { start, end } of parts) {
        if (start < at || end <= start || end > text.length) continue
        pieces.push(visible(text.slice(at, start)), paint('bold')(text.slice(start, end)).text)
        at = end
      }
      return new Painted([...pieces, visible(text.slice(at))].join(''))
    },
    /** Whether progress is visible. */
    showsProgress: !quiet && !json && stderr.isTTY === true,
    clear,
    /** Asks on the terminal. Only for terminals. */
    ask(question: string): Promise<string> {
      clear()
      return ask({ stdin, stderr }, question)
    },
    /** Asks on the terminal without echo. Only for terminals. Ctrl-C and Ctrl-D return an empty answer. */
    askSecretly(question: string): Promise<string> {
      clear()
      return askSecretly({ stdin, stderr }, question)
    },
    /** Prints an error: what happened, what to do, and the request id. */
    fail(told: PrintedError): void {
      clear()
      if (json) {
        const { exitCode: _, ...error } = told
        stderr.write(`${jsonText({ error })}\n`)
        return
      }
      const head = inColor(stderr) ? styleText('red', 'Error:', { validateStream: false }) : 'Error:'
      const request = told.request_id === undefined ? '' : ` (request ${visible(told.request_id)})`
      stderr.write(`${head} ${visible(told.message)}${request}\n`)
      if (told.advice !== undefined) stderr.write(`${visible(told.advice)}\n`)
    },
  }
}
export type Terminal = ReturnType<typeof openTerminal>

/** Reads standard input to its end. @throws Failure for a terminal, where the user would not know that kp waits */
export async function readStdin({ stdin }: Pick<Invocation, 'stdin'>, what: string): Promise<string> {
  if (stdin.isTTY)
    throw new Failure('usage', `${what} must be piped to standard input, but nothing was piped.`, {
      exitCode: exitCodes.usage,
    })
  let text = ''
  for await (const piece of stdin.setEncoding('utf8')) text += String(piece)
  return text
}
