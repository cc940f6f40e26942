import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { nodeFlags } from '#bin/children.ts'
import { fileObjects } from '#lib/stores/objects/files.ts'
import { type BenchRow, median } from './row.ts'
import { withScope } from './scope.ts'
import { wholeWay } from './snapshot-restored.ts'
import { growthOf, secondsOf } from './transfer.ts'

const MIB = 1024 * 1024
const SIZE = 50 * MIB
const runs = 3

/** A JSON state of 50 MiB: words, numbers, and lookalikes of keys. */
function* json(): Generator<Buffer> {
  const record = (number: number) =>
    `${JSON.stringify({ step: number, at: 'a day', seen: [number / 7, number], note: 'Spreads widen before the fixing; wait for the second print.', transaction: `0x${number.toString(16).padStart(64, 'a')}`, wallet: { private_key: 'taken out', address: null } })},`
  let bytes = 1
  yield Buffer.from('[')
  for (let number = 0; bytes < SIZE - 64 * 1024; ) {
    let text = ''
    while (text.length < 64 * 1024) text += record(number++)
    bytes += text.length
    yield Buffer.from(text)
  }
  yield Buffer.from('0]')
}
function* noise(): Generator<Buffer> {
  for (let number = 0; number < SIZE / MIB; number++)
    yield Buffer.from(Array.from({ length: MIB }, (_, at) => (at * 7919 + number * 104_729 + (at >> 8)) & 255))
}

async function measured(name: string, mediaType: string, state: () => Iterable<Buffer>): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'kp-bench-'))
  const objects = fileObjects(folder)
  const child = fork(join(import.meta.dirname, 'snapshot-process.ts'), [folder], { execArgv: [...nodeFlags] })
  try {
    await once(child, 'message')
    const pid = child.pid ?? 0
    const put = (key: string, bytes: AsyncIterable<Uint8Array>) => objects.put(key, bytes, { mediaType })
    const copied = async () => {
      const source = await objects.get('state')
      if (source) await put('copy', source)
    }
    const tell = async (task: string) => {
      child.send({ task, mediaType })
      const [told] = await Promise.race([once(child, 'message'), once(child, 'exit')])
      if (told !== 'done') throw new Error(`the process ended at "${task}"`)
    }
    const times: Record<'make' | 'open' | 'copy', number[]> = { make: [], open: [], copy: [] }
    // Idle is measured after the process has done such work once.
    await put('state', Readable.from([Buffer.from('{"a":1}')]))
    for (const task of ['make', 'open']) await tell(task)
    await put('state', Readable.from(state()))
    const { growth } = await growthOf(pid, async () => {
      for (let run = 0; run < runs; run++) {
        times.make.push(await secondsOf(() => tell('make')))
        times.open.push(await secondsOf(() => tell('open')))
      }
    })
    for (let run = 0; run < runs; run++) times.copy.push(await secondsOf(copied))
    const rate = (all: readonly number[]) => SIZE / 1e6 / median(all)
    const ceiling = { name: 'the same bytes copied', value: rate(times.copy) }
    return [
      { name: `${name}: made, 50 MiB`, value: rate(times.make), unit: 'MB/s', ceiling },
      { name: `${name}: opened and written`, value: rate(times.open), unit: 'MB/s', ceiling },
      {
        name: `${name}: memory that the process grew by, made and opened ${runs} times`,
        value: growth,
        unit: 'MiB',
        bar: 'at most 128',
        met: growth <= 128,
      },
    ]
  } finally {
    child.kill()
    await objects.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * A snapshot of 50 MiB of state (JSON that is stripped and scanned, and plain bytes): sealed and opened by one
 * process, and restored in an installation.
 */
export async function run(): Promise<BenchRow[]> {
  return [
    ...(await measured('state as JSON', 'application/json', json)),
    ...(await measured('state as bytes', 'application/octet-stream', noise)),
    ...(await withScope((scope) =>
      wholeWay(scope, { mediaType: 'application/octet-stream', bytes: SIZE, state: noise }),
    )),
  ]
}
