import { worstTexts } from '#lib/testing/worst-texts.ts'
import { viewsOf } from '#lib/text/views.ts'
import { type BenchRow, median } from './row.ts'

const MIB = 1024 * 1024
const sentence = 'The build failed because the lock file named another version than the manifest does. '
const cell = `<tr><td style="padding:4px">Dear Ann,<br>${sentence}&nbsp;&amp; more</td><td><a href="/a?b=1">here</a></td></tr>\n`

/** Texts of each form, with the least MB/s. */
const texts: readonly { name: string; bar: number; make: (n: number) => string }[] = [
  { name: 'prose', bar: 20, make: (n) => (n % 5 === 0 ? `${sentence}\n\n` : sentence) },
  { name: 'HTML mail', bar: 10, make: () => cell },
  {
    name: 'JSON',
    bar: 10,
    make: (n) => `${JSON.stringify({ id: `m${n}`, content: sentence.repeat(4), author: 'ann' })}\n`,
  },
  { name: 'Base64', bar: 10, make: () => `${Buffer.from(sentence.repeat(9)).toString('base64')}\n\n` },
  { name: 'short lines', bar: 10, make: (n) => `${sentence.slice(0, 8 + (n % 9))}\n` },
  {
    name: 'logs with times',
    bar: 10,
    make: (n) => `2026-11-1${n % 9}T10:15:0${n % 10}.123Z INFO worker-${n % 7} - ${sentence}\n`,
  },
  {
    name: 'JSON with short strings',
    bar: 10,
    make: (n) => `{"id":${n},"name":"ann","role":"user","t":"fever since"}\n`,
  },
]

const milliseconds = (text: string): number => {
  viewsOf('')
  const before = process.cpuUsage()
  viewsOf(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function throughput({ name, bar, make }: (typeof texts)[number]): BenchRow {
  let text = ''
  for (let n = 0; text.length < MIB; n++) text += make(n)
  const value = Buffer.byteLength(text) / 1000 / median(Array.from({ length: 7 }, () => milliseconds(text)))
  return { name: `views of ${name}`, value, unit: 'MB/s', bar: `at least ${bar}`, met: value >= bar }
}

/** Maximum milliseconds per mebibyte. */
const mostMilliseconds = 300
function worst({ name, make }: (typeof worstTexts)[number]): BenchRow {
  const text = make(MIB)
  // Noise only adds time, so the minimum counts.
  const value = Math.min(...Array.from({ length: 3 }, () => milliseconds(text)))
  const bar = `at most ${mostMilliseconds}`
  return { name: `worst: ${name}, 1 MiB`, value, unit: 'ms', bar, met: value <= mostMilliseconds, isDetail: true }
}

/** The views of texts of each form, and of the worst inputs. */
export async function run(): Promise<BenchRow[]> {
  const details = worstTexts.map(worst)
  const [slowest] = details.toSorted((one, other) => other.value - one.value)
  return [
    ...texts.map(throughput),
    ...(slowest ? [{ ...slowest, name: `slowest of ${worstTexts.length} ${slowest.name}`, isDetail: false }] : []),
    ...details,
  ]
}
