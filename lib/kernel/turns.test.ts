import { expect, it } from 'vitest'
import { turns } from './turns.ts'

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

it('turns runs a limited number at once, queues a limited number in order, and returns full for the rest', async () => {
  const { work, begun, end } = held()
  const take = turns({ atOnce: 2, waiting: 2 })
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

it('turns starts the next work when one fails', async () => {
  const take = turns({ atOnce: 1, waiting: 1 })
  const fails = take(() => Promise.reject(new Error('no')))
  const next = take(async () => 'yes')
  await expect(fails).rejects.toThrow('no')
  expect(await next).toEqual({ value: 'yes' })
  expect(await take(async () => 'again')).toEqual({ value: 'again' })
})
