import { redact } from '#lib/domains/pii/redaction.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { worstScans } from '#lib/testing/worst-scans.ts'
import { type BenchRow, median } from './row.ts'

const MIB = 1024 * 1024
const ascii = `The build failed because the lock file named another version than the manifest does. Compare both, then run the
installation again (it takes about a minute). If x < y the retry is cheap; otherwise raise the limit to 30 seconds first. On 2026-11-22
at 10:15 version 1.2.3.4 of the package was published, with 12 changes.\n`
const numbers = `In 2023 the company sold 1,204 units for $3,499.99 each (up 12.5% from 1,071); order 20231104-7781 shipped 03/14/2023 at 14:05, invoice
4500128877, weight 12.75 kg, room 402, pages 112-118, ISBN 978-3-16-148410-0, 10.5281/zenodo.1234567, 52.5200, 13.4050, 99.95%, 300 ms.\n`
const mixed = `Der Übersetzer meldet „unbekanntes Symbol“ – 构建失败，因为锁文件过期了。Проверьте версию и повторите. می‌خواهم ✅ 👩‍💻 naïve café.\n`
const planted = `${ascii}Ask somebody@mail.example or +49 30 1234567; pay to DE89 3704 0044 0532 0130 00 from 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed.\n`

const dense = `Ann Lee, ann.lee@acme-mail.org, Tel. 030 4567 8912, +44 20 7123 4567, 4539 5787 6362 1486, DE89 3704 0044 0532 0130 00, 84.23.11.9,
SSN 536-90-4399, password: Tr0ub4dor8xQ9\n`
const telephones = Array.from({ length: 2_000 }, (_, n) => `Tel: 030 ${4_000_000 + n * 137}\n`).join('')

const seconds = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** UTF-8 bytes per second of processor time of one core, compared with one pass of a simple regular expression. */
function throughput(name: string, unit: string, bar?: number, work: (text: string) => unknown = scan): BenchRow {
  const text = unit.repeat(Math.ceil((4 * MIB) / unit.length))
  const megabytes = Buffer.byteLength(text) / 1e6
  const runs = Array.from({ length: 7 }, () => ({
    ours: seconds(() => work(text)),
    pass: seconds(() => text.match(/\p{L}+/gu)?.length),
  })).slice(2)
  const value = megabytes / median(runs.map(({ ours }) => ours))
  return {
    name,
    value,
    unit: 'MB/s',
    ceiling: { name: 'words counted by /\\p{L}+/gu', value: megabytes / median(runs.map(({ pass }) => pass)) },
    ...(bar !== undefined && { bar: `at least ${bar}`, met: value >= bar }),
  }
}

/** Maximum milliseconds per mebibyte. */
const mostMilliseconds = 300

function worst({ name, make }: (typeof worstScans)[number]): BenchRow[] {
  const [short, long] = [make(MIB / 4), make(MIB)]
  const milliseconds = (text: string) => seconds(() => scan(text, { strategy: true })) * 1000
  let [small, large, growth] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  // Noise only adds time: a bad measurement is repeated, and the minimum counts.
  for (let attempt = 0; attempt < 2 || (attempt < 8 && growth > 6); attempt += 1) {
    small = Math.min(small, milliseconds(short))
    large = Math.min(large, milliseconds(long))
    // Below 10 ms, garbage collection dominates.
    growth = Math.max(large, 10) / Math.max(small, 10)
  }
  return [
    { name: `worst: ${name}, 1 MiB`, value: large, unit: 'ms', isDetail: true },
    {
      name: `worst: ${name}, growth from 256 KiB`,
      value: growth,
      unit: '× for 4 × the size',
      bar: 'linear is 4, at most 6',
      met: growth <= 6,
      isDetail: true,
    },
  ]
}

/** Ordinary text, text with findings, and 1 MiB of the worst input of each recogniser. */
export async function run(): Promise<BenchRow[]> {
  const details = worstScans.flatMap(worst)
  const max = (part: string) =>
    details.filter(({ name }) => name.includes(part)).toSorted((one, other) => other.value - one.value)[0]
  const [slowest, fastest] = [max(', 1 MiB'), max(', growth')]
  return [
    throughput('ordinary text, ASCII', ascii, 20),
    throughput('ordinary text, mixed scripts', mixed, 20),
    throughput('prose with many numbers', numbers, 15),
    throughput('text with personal data in every third line', planted),
    throughput('the same, redacted', planted, undefined, redact),
    throughput('nothing but personal data', dense, 15),
    throughput('lines of telephone numbers, redacted', telephones, 15, redact),
    ...(slowest
      ? [
          {
            name: `slowest of ${worstScans.length} ${slowest.name}`,
            value: slowest.value,
            unit: 'ms',
            bar: `at most ${mostMilliseconds}`,
            met: slowest.value <= mostMilliseconds,
          },
        ]
      : []),
    ...(fastest ? [{ ...fastest, name: `largest growth of any ${fastest.name}`, isDetail: false }] : []),
    ...details,
  ]
}
