import { expect, it } from 'vitest'
import { limitConcurrency } from './concurrency.ts'

/** Work that ends when the test calls `end`. */
function held() {
  const ends: (() => void)[] = []
  const begun: number[] = []
  const work = (n: number) => () => {
    begun.push(n)
    return new Promise<number>((end) => ends.push(() => end(n)))
  }
  return { work, begun, end: (at: number) => ends[at]?.() }
}
const settled = () => new Promise((done) => setImmediate(done))

it('turns runs a limited number of tasks at a time, queues a limited number in order, and returns "full" for the rest', async () => {
  const { work, begun, end } = held()
  const take = limitConcurrency({ atOnce: 2, waiting: 2 })
  const all = [1, 2, 3, 4].map((n) => take(work(n)))
  expect(await take(work(5))).toBe('full')
  expect(begun).toEqual([1, 2])
  end(1)
  await settled()
  expect(begun).toEqual([1, 2, 3])
  const late = take(work(6))
  await settled()
  expect(begun).toEqual([1, 2, 3])
  for (const at of [0, 2, 3]) {
    end(at)
    await settled()
  }
  expect(begun).toEqual([1, 2, 3, 4, 6])
  end(4)
  expect(await Promise.all([...all, late])).toEqual([1, 2, 3, 4, 6].map((value) => ({ value })))
})

it('turns starts the next task when one fails', async () => {
  const take = limitConcurrency({ atOnce: 1, waiting: 1 })
  const fails = take(() => Promise.reject(new Error('no')))
  const next = take(async () => 'yes')
  await expect(fails).rejects.toThrow('no')
  expect(await next).toEqual({ value: 'yes' })
  expect(await take(async () => 'again')).toEqual({ value: 'again' })
})

it('turns gives one party its share of the slots and of the queue, and starts tasks of the others in turn', async () => {
  const { work, begun, end } = held()
  const take = limitConcurrency({ atOnce: 4, waiting: 8, share: 1 / 4 })
  const flood = [1, 2, 3].map((n) => take(work(n), 'one'))
  expect(begun).toEqual([1])
  expect(await take(work(9), 'one')).toBe('full')
  const others = [take(work(4), 'two'), take(work(5), 'three'), take(work(6), 'four'), take(work(7), 'five')]
  const again = take(work(8), 'two')
  expect(begun).toEqual([1, 4, 5, 6])
  end(0) // of party one, whose next work began to wait first
  await settled()
  expect(begun).toEqual([1, 4, 5, 6, 2])
  end(1) // of party two, whose next work began to wait after that of party five
  await settled()
  expect(begun).toEqual([1, 4, 5, 6, 2, 7])
  for (const at of [2, 3, 4, 5, 6, 7]) {
    end(at)
    await settled()
  }
  expect(begun).toEqual([1, 4, 5, 6, 2, 7, 8, 3])
  expect(await Promise.all([...flood, ...others, again])).toHaveLength(8)
})

it('turns returns "late" without starting the task when no slot is free in time', async () => {
  const { work, begun, end } = held()
  const take = limitConcurrency({ atOnce: 1, waiting: 5, patience: 10 })
  const first = take(work(1))
  expect(await take(work(2))).toBe('late')
  end(0)
  expect(await first).toEqual({ value: 1 })
  expect(begun).toEqual([1])
  expect(await take(async () => 'free again')).toEqual({ value: 'free again' })
})
