// Disables the `erase` of each data source in turn while all others erase in order: the planned items must be reported
// as residue. This detects an `erase` that does nothing and a `residue` that finds nothing. A run with a disabled data
// source ends without a receipt.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { searchResidue } from '#lib/domains/erasure/engine/verify.ts'
import { dataSourcesInOrder } from '#lib/domains/erasure/runs/run-rules.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { type MadeSubject, madeSubject } from '#lib/testing/subjects.ts'

/** Data sources that need a special plan, and the test that disables them. */
const elsewhere: Record<string, string> = {
  'checkpoints.threads': 'lib/domains/projects/checkpoints/thread-decisions.int.test.ts',
  'holds.versions': 'lib/domains/holds/held-versions.int.test.ts',
  'privacy.forms': 'lib/domains/privacy-requests/form/form.int.test.ts',
}

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

/** What the subject wrote in the project of a colleague. */
const saidBy = ({ marker }: { marker: string }): string => `To you: ${marker}.`

/** A person with records in every data source. */
async function made(): Promise<{ subject: MadeSubject; participant: string }> {
  const subject = await madeSubject(test, { agents: 1, units: 1 })
  const now = test.clock.now()
  const participant = newId('part')
  await test.db.prisma.projectParticipant.create({
    data: {
      id: participant,
      projectId: subject.projects.shared,
      externalId: newId('user'),
      createdBy: subject.neighbour.agent.id,
      name: subject.marker,
      accountId: subject.accountId,
      claimedAt: now,
      createdAt: now,
      updatedAt: now,
    },
  })
  const { id } = await test.db.prisma.message.findFirstOrThrow({ where: { projectId: subject.projects.own } })
  await test.app.stored.cache.set(`about ${subject.marker}`, subject.marker, { ttl: 600, about: [id] })
  await dataOf(test, 'POST', '/api/privacy/requests', subject, { body: { kinds: ['access'] } })
  await test.db.prisma.message.create({
    data: {
      id: newId('msg'),
      projectId: subject.projects.shared,
      conversationId: subject.projects.sharedConversation,
      role: 'assistant',
      content: `Nothing of that is known here. You wrote: ${saidBy(subject)}`,
      authorKind: 'agent',
      authorId: subject.neighbour.agent.id,
      createdAt: new Date(now.getTime() + 1_000),
      updatedAt: now,
    },
  })
  return { subject, participant }
}

it('every data source reports its planned items as residue until they are erased, and nothing afterwards', async () => {
  const { subject, participant } = await made()
  const agents = subject.agents.map(({ id }) => id)
  const scope: ErasureScope = { subject: { account: subject.accountId, agents, participants: [participant] } }
  const now = test.clock.now()
  const words = new Fingerprints()
  words.add(saidBy(subject))
  const inOrder = dataSourcesInOrder(test.app.dataSources).map(({ dataSource }) => dataSource)
  // Without a fence, the texts of the subject explain their words until they are deleted.
  const { true: comparing = [], false: others = [] } = Object.groupBy(inOrder, (one) =>
    one.comparesWords ? 'true' : 'false',
  )
  const dataSources = [...others, ...comparing]
  const manner = (one: DataSource, page: number) => ({
    key: `run:${one.name}:${page}`,
    redacts: false,
    now,
    ...(one.comparesWords && { words }),
  })
  const plans = new Map<DataSource, string[]>()
  for (const dataSource of dataSources) {
    const { items, watched = [] } = await test.db.transaction((tx) => dataSource.plan(scope, tx, now))
    if (!(dataSource.name in elsewhere)) expect(items, `${dataSource.name} has something to erase`).not.toEqual([])
    plans.set(dataSource, [...items, ...watched])
  }
  for (const dataSource of dataSources) {
    const items = plans.get(dataSource) ?? []
    const residue = async () =>
      (await searchResidue([dataSource], { scope, itemsOf: () => items, words, now: () => now })).get(
        dataSource.name,
      ) ?? 0
    if (!(dataSource.name in elsewhere)) expect(await residue(), `${dataSource.name} before`).toBeGreaterThan(0)
    const size = dataSource.pageSize ?? 1_000
    for (let at = 0; at < items.length; at += size)
      await test.db.transaction((tx) => dataSource.erase(scope, items.slice(at, at + size), tx, manner(dataSource, at)))
    expect(await residue(), `${dataSource.name} afterwards`).toBe(0)
  }
})

/** Excludes data sources whose rows the database deletes with their agent or project. */
const names = [
  'checkpoints.messages',
  'projects.messages',
  'cache.entries',
  'graph.episodes',
  'objects.bytes',
  'knowledge.units',
  'projects.quotations',
  'mail.letters',
]
it.each(sampled('erasures with a data source that does nothing', names, 1))(
  'an erasure issues no receipt while the data source %s erases nothing',
  async (name) => {
    const { subject } = await made()
    const dataSource = test.app.dataSources.find((one) => one.name === name)
    if (!dataSource) throw new Error(`there is no ${name}`)
    const { erase } = dataSource
    dataSource.erase = async (_scope, items) => items.length
    try {
      const { id } = await dataOf(test, 'POST', '/api/privacy/requests', subject, {
        body: { kinds: ['erasure'], grace: 'now', password: subject.password },
      })
      await drain(test, { except: ['privacy.clock'], mayFail: true })
      const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { requestId: id } })
      const step = await test.db.prisma.erasureStep.findFirst({ where: { runId: run.id, holder: name } })
      expect(['failed', 'verifying', 'planning', 'erasing']).toContain(run.state)
      expect(step?.residue).toBeGreaterThan(0)
      expect((await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).status).toBe(404)
    } finally {
      dataSource.erase = erase
    }
  },
)
