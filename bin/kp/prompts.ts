import { on } from 'node:events'
import { createInterface } from 'node:readline/promises'
import type { Invocation } from './invocation.ts'
import { visible } from './visible-text.ts'

type Streams = Pick<Invocation, 'stdin' | 'stderr'>

/** Asks on the terminal. Ctrl-C and Ctrl-D return an empty answer, and later output starts on a new line. */
export async function ask({ stdin, stderr }: Streams, question: string): Promise<string> {
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
export async function askSecretly({ stdin, stderr }: Streams, question: string): Promise<string> {
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
