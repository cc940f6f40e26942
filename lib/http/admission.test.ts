import { expect, it } from 'vitest'
import { admission } from './admission.ts'

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
