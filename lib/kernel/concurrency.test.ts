import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { groupCommit } from './concurrency.ts'

/** A store whose writes end when the test says so. */
function store({ fails = () => false, isWorthRepeating = true, lanes = 1 } = {}) {
  const calls: string[][] = []
  const ends: (() => void)[] = []
  const write = async (members: readonly string[]): Promise<string[]> => {
    calls.push([...members])
    await new Promise<void>((end) => ends.push(end))
    if (members.some((member) => fails() || member === 'bad')) throw new Error(`failed with ${members.length}`)
    return members.map((member) => member.toUpperCase())
  }
  const add = groupCommit<string, string>({
    alone: async (member) => (await write([member]))[0] ?? '',
    together: write,
    isWorthRepeating: () => isWorthRepeating,
    max: 3,
    lanes,
  })
  const endAll = async () => {
    for (let n = 0; n < 20; n++) {
      for (const end of ends.splice(0)) end()
      await turn()
    }
  }
  return { calls, add, endAll }
}

test('a write starts at once, and those that arrive meanwhile form groups of at most the given size', async () => {
  const { calls, add, endAll } = store()
  const outcomes = Promise.all(['a', 'b', 'c', 'd', 'e'].map((member) => add('key', member)))
  expect(calls).toEqual([['a']])
  await endAll()
  expect(await outcomes).toEqual(['A', 'B', 'C', 'D', 'E'])
  expect(calls).toEqual([['a'], ['b', 'c', 'd'], ['e']])
})

test('keys do not wait for each other, and a key has as many groups at once as lanes', async () => {
  const { calls, add, endAll } = store({ lanes: 2 })
  const outcomes = Promise.all([add('one', 'a'), add('one', 'b'), add('one', 'c'), add('two', 'd')])
  expect(calls).toEqual([['a'], ['b'], ['d']])
  await endAll()
  expect(await outcomes).toEqual(['A', 'B', 'C', 'D'])
})

test('after a failed group, each member is stored alone and has its own outcome', async () => {
  const { calls, add, endAll } = store()
  const outcomes = Promise.allSettled(['a', 'b', 'bad', 'c'].map((member) => add('key', member)))
  await endAll()
  expect(
    (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
  ).toEqual(['A', 'B', 'failed with 1', 'C'])
  expect(calls).toEqual([['a'], ['b', 'bad', 'c'], ['b'], ['bad'], ['c']])
})

test('a failure that concerns all members is not repeated for each', async () => {
  const { calls, add, endAll } = store({ isWorthRepeating: false })
  const outcomes = Promise.allSettled(['a', 'bad', 'c'].map((member) => add('key', member)))
  await endAll()
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(calls).toEqual([['a'], ['bad', 'c']])
})
