import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { eraseWholeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

const day = 24 * 3_600_000

let test: TestApp
beforeAll(async () => {
  test = await testApp({ KP_BACKUP_DAYS: '1' })
})
afterAll(() => test?.close())

const job = async (wanted: string) => {
  for (const one of test.app.jobs.filter(({ name }) => name === wanted)) await one.execute(test.app.pipeline, {})
}
/** Returns the kinds of the ledger's rows about an erasure, and whether its items are still readable. */
async function noted(receipt: string) {
  const found = { kinds: new Set<string>(), items: 0 }
  for await (const row of test.app.ledger.read()) {
    if (row.id !== receipt) continue
    found.kinds.add(row.kind)
    if (row.kind === 'items') found.items += row.items.length
  }
  return { kinds: [...found.kinds].sort(), isReadable: found.items > 0 }
}

it('expiry deletes the items of an erasure from the ledger, but not its other rows, after all backups with the data have expired', async () => {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.owner)
  const receipt = await eraseWholeProject(test, message.path, project.owner)
  const kinds = ['commit', 'intent', 'items']
  expect(await noted(receipt)).toEqual({ kinds, isReadable: true })
  test.clock.advance(40 * day)
  await job('erasure.expire')
  // The second search is still due.
  expect(await noted(receipt)).toEqual({ kinds, isReadable: true })
  await job('erasure.recheck')
  await drain(test)
  await job('erasure.expire')
  expect(await noted(receipt)).toEqual({ kinds, isReadable: false })
})
