import { describe, expect, it } from 'vitest'
import { type OperationShape, poolOf } from '#lib/kernel/operation.ts'
import { admission, admissionPools } from './admission.ts'

const pending = () => {
  let end = () => {}
  const done = new Promise<void>((resolve) => {
    end = resolve
  })
  return { done, end }
}

it('run starts the longest-waiting request when another ends, and rejects a request that would wait too long', async () => {
  const patient = admission({ atOnce: 2, waiting: 9, patience: 60_000 })
  const [first, second] = [pending(), pending()]
  const order: number[] = []
  const ran = [
    patient.run('one', () => first.done),
    patient.run('one', () => second.done),
    patient.run('one', async () => order.push(3)),
    patient.run('one', async () => order.push(4)),
  ]
  await Promise.resolve()
  expect(order).toEqual([])
  first.end()
  await ran[3]
  expect(order).toEqual([3, 4])
  second.end()
  await Promise.all(ran)

  const hasty = admission({ atOnce: 1, waiting: 9, patience: 10 })
  const third = pending()
  const running = hasty.run('one', () => third.done)
  await expect(hasty.run('one', async () => {})).rejects.toMatchObject({
    code: 'unavailable',
    headers: { 'Retry-After': '2' },
  })
  third.end()
  await running
  await expect(hasty.run('one', async () => 'free again')).resolves.toBe('free again')
})

it('run frees the slot of failed work', async () => {
  const one = admission({ atOnce: 1, waiting: 9, patience: 10 })
  await expect(one.run('one', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(one.run('one', async () => 1)).resolves.toBe(1)
})

it('run rejects the requests of one party beyond its share, and starts those of another', async () => {
  const fair = admission({ atOnce: 4, waiting: 8, share: 1 / 4, patience: 10 })
  const slow = pending()
  const running = fair.run('one', () => slow.done)
  await expect(fair.run('one', async () => {})).rejects.toMatchObject({ code: 'unavailable', status: 503 })
  await expect(fair.run('two', async () => 'runs')).resolves.toBe('runs')
  slow.end()
  await running
})

const settled = () => new Promise((done) => setImmediate(done))

describe('contributions', () => {
  /** Starts endless contributions of many tenants, and returns how many run. */
  function flood(pools: ReturnType<typeof admissionPools>, count: number) {
    const ends: (() => void)[] = []
    const results = Array.from({ length: count }, (_, n) =>
      pools.contributions
        .run(`tenant ${n}`, () => {
          const work = pending()
          ends.push(work.end)
          return work.done
        })
        .then(
          () => 'stored',
          (error: { status: number; headers: Record<string, string> }) =>
            `${error.status} after ${error.headers['Retry-After']}`,
        ),
    )
    return { results, running: () => ends.length, end: (n: number) => ends[n]?.() }
  }

  it('leave three of the ten database connections free, and are rejected with Retry-After above their queue', async () => {
    const { results, running } = flood(admissionPools({ patience: 60_000 }), 300)
    await settled()
    expect(running()).toBe(7)
    expect(await Promise.all(results.slice(207))).toEqual(Array(93).fill('503 after 2'))
  })

  it('start only two at once while an erasure runs or waits, and all waiting ones again when it has ended', async () => {
    const pools = admissionPools({ patience: 60_000 })
    const erasure = pending()
    const erased = pools.erasures.run('one', () => erasure.done)
    const { running, end } = flood(pools, 20)
    await settled()
    expect(running()).toBe(2)
    end(0)
    await settled()
    expect(running()).toBe(3)
    erasure.end()
    await erased
    end(1)
    await settled()
    expect(running()).toBe(9)
  })

  it('never keep an erasure from starting', async () => {
    const pools = admissionPools({ patience: 10 })
    const { running } = flood(pools, 300)
    await settled()
    expect(running()).toBe(7)
    const erased = await Promise.all(
      Array.from({ length: 16 }, (_, n) => pools.erasures.run(`tenant ${n}`, async () => n)),
    )
    expect(erased).toHaveLength(16)
  })

  it('contributions of one agent that share a transaction count once: sixteen in a slot, four while an erasure runs', async () => {
    for (const [isErasing, max, slots] of [
      [false, 16, 7],
      [true, 4, 2],
    ] as const) {
      const pools = admissionPools({ patience: 60_000 })
      const erasure = pending()
      const erased = isErasing ? pools.erasures.run('one', () => erasure.done) : undefined
      const others = flood(pools, slots - 1)
      const groups = new Map<string | undefined, number>()
      const own = pending()
      const all = Array.from({ length: 2 * max }, () =>
        pools.contributions.run(
          'tenant',
          (group) => {
            groups.set(group, (groups.get(group) ?? 0) + 1)
            return own.done
          },
          'agent',
        ),
      )
      await settled()
      expect([...groups.values()]).toEqual([max])
      others.end(0)
      await settled()
      expect([...groups.values()]).toEqual([max, max])
      own.end()
      erasure.end()
      await Promise.all([...all, erased])
      for (let n = 1; n < slots; n++) others.end(n)
      expect(await Promise.all(others.results)).toEqual(Array(slots - 1).fill('stored'))
      expect(pools.contributions.pending).toBe(0)
    }
  })

  it('contributions that share a transaction are rejected when the queue is full, and together when their slot comes too late', async () => {
    const pools = admissionPools({ patience: 10 })
    const { running } = flood(pools, 7)
    await settled()
    expect(running()).toBe(7)
    const late = Array.from({ length: 300 }, (_, n) =>
      pools.contributions
        .run('tenant', async () => 'stored', `agent ${n % 3}`)
        .catch((error: { status: number }) => error.status),
    )
    expect(await Promise.all(late)).toEqual(Array(300).fill(503))
    expect(pools.contributions.pending).toBe(7)
  })

  it('are the operations that store content, except uploads, erasures and registrations', () => {
    const shape = { stores: 'one record' } as OperationShape
    expect(poolOf(shape)).toBe('contributions')
    expect(poolOf({ ...shape, upload: ['text/plain'] })).toBe('uploads')
    expect(poolOf({ ...shape, pool: 'registrations' })).toBe('registrations')
  })
})
