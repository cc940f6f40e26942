import { expect, it } from 'vitest'
import { admission } from './admission.ts'

const pending = () => {
  let end = () => {}
  const done = new Promise<void>((resolve) => {
    end = resolve
  })
  return { done, end }
}

it('run starts the longest-waiting request when one ends, and rejects one that would wait too long', async () => {
  const patient = admission({ most: 2, patience: 60_000 })
  const [first, second] = [pending(), pending()]
  const order: number[] = []
  const ran = [
    patient.run(() => first.done),
    patient.run(() => second.done),
    patient.run(async () => order.push(3)),
    patient.run(async () => order.push(4)),
  ]
  await Promise.resolve()
  expect(order).toEqual([])
  first.end()
  await ran[3]
  expect(order).toEqual([3, 4])
  second.end()
  await Promise.all(ran)

  const hasty = admission({ most: 1, patience: 10 })
  const third = pending()
  const running = hasty.run(() => third.done)
  await expect(hasty.run(async () => {})).rejects.toMatchObject({
    code: 'unavailable',
    headers: { 'Retry-After': '2' },
  })
  third.end()
  await running
  await expect(hasty.run(async () => 'free again')).resolves.toBe('free again')
})

it('run frees the slot of failed work', async () => {
  const one = admission({ most: 1, patience: 10 })
  await expect(one.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(one.run(async () => 1)).resolves.toBe(1)
})
