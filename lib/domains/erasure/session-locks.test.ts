import pg from 'pg'
import { expect, it } from 'vitest'
import { replayAlone } from './ledger/restored-database.ts'
import { completeReadings } from './reading/reading.ts'

/** A database whose connection fails when the lock is released; `isFree`: whether the lock can be taken. */
function lent({ fails, isFree = true }: { fails: boolean; isFree?: boolean }) {
  const released: (boolean | undefined)[] = []
  const client = Object.assign(Object.create(pg.Client.prototype), {
    query: async (asked: string | { text: string }) => {
      const sql = typeof asked === 'string' ? asked : asked.text
      if (fails && sql.includes('unlock')) throw new Error('the connection is lost')
      return { rows: [{ done: isFree, is_ours: isFree }] }
    },
    release: (closes?: boolean) => released.push(closes),
  })
  return { released, db: { session: async () => client } as never }
}
const replay = () => Promise.reject(new Error('the ledger is down'))
const read = (db: never) => completeReadings({ db } as never).read()

it.each([
  ['a replay', (db: never) => replayAlone(db, replay)],
  ['a reading', read],
])('%s closes its connection when the lock could not be released', async (_, run) => {
  const { db, released } = lent({ fails: true })
  await expect(run(db)).rejects.toThrow('the connection is lost')
  expect(released).toEqual([true])
})
it.each([
  ['a replay', (db: never) => replayAlone(db, replay)],
  ['a reading', read],
])('%s returns its connection when another process has the lock, or after a fault', async (_, run) => {
  const taken = lent({ fails: false, isFree: false })
  await run(taken.db)
  expect(taken.released).toEqual([false])
  const faulty = lent({ fails: false })
  await expect(run(faulty.db)).rejects.toThrow()
  expect(faulty.released).toEqual([false])
})
