import { expect, it } from 'vitest'
import { inKeyOrder } from '#lib/stores/objects/keys.ts'
import { applicationKeys, maxOwn, noneUnsearched } from './scan.ts'

const project = `prj_${'1'.repeat(22)}`
const uploads = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `projects/${project}/messages/m/att_${String(n).padStart(22, '0')}`)

async function found(keys: string[], rows: readonly string[] = []) {
  const sorted = keys.toSorted(inKeyOrder)
  const unsearched = noneUnsearched()
  const objects = {
    list: async (_: string, after: string, max: number) => {
      const at = sorted.findIndex((key) => key > after)
      return at < 0 ? [] : sorted.slice(at, at + max)
    },
  }
  const named = async (some: readonly string[]) => new Set(some.filter((key) => rows.includes(key)))
  const all = await Array.fromAsync(applicationKeys(objects, named, unsearched))
  return { all, isAmongOwn: unsearched.isAmongOwn }
}

it('applicationKeys returns all keys but uploads, marks and keys that rows name', async () => {
  const theirs = ['app/a', 'knowledgepulse-demo/a', 'projects/4711/a', 'projects/~a', 'snapshots/2026/crm.json', 'zeta']
  const former = `projects/${project}/documents/d1`
  expect(await found([...theirs, ...uploads(2_500), former, 'knowledgepulse-installation'], [former])).toEqual({
    all: theirs,
    isAmongOwn: false,
  })
})

it('applicationKeys skips the rest of a folder after too many own keys, and says so', async () => {
  const [before, after] = [
    ['app/a', 'projects/4711/a'],
    ['projects/~a', 'uploads/a', 'zeta'],
  ]
  const rest = `projects/${project}/notes.txt`
  expect(await found([...before, ...uploads(maxOwn + 2_000), rest, ...after])).toEqual({
    all: [...before, ...after],
    isAmongOwn: true,
  })
})
