import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import {
  dataOf,
  eraseWholeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const said = 'The patient in room nine keeps a heron in the bathroom of her aunt.'
const rest = 'I recommend that you call the veterinary office before Friday.'
const contentOf = async (id: string) => (await test.db.prisma.message.findUniqueOrThrow({ where: { id } })).content
const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json

async function talk() {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.agent, { content: said })
  const answer = (role: string, content: string) => madeMessage(test, conversation, project.agent, { content, role })
  return { project, conversation, message, answer }
}

it.each(['assistant', 'tool', 'system'])(
  'erasure cuts the quotation from a message with the role %s and keeps the rest',
  async (role) => {
    const { project, message, answer } = await talk()
    const quoting = await answer(role, `${rest}\nYou wrote: ${said}`)
    const only = await answer(role, said)
    const other = await answer(role, rest)
    await dataOf(test, 'PATCH', quoting.path, project.agent, { body: { content: `You wrote: ${said}\n${rest}` } })
    const plan = await dataOf(test, 'DELETE', `${message.path}?dry_run=true`, project.owner)
    for (const { id } of [quoting, only])
      expect(plan.verdicts).toContainEqual(
        expect.objectContaining({ kind: 'message', id, verdict: 'changed', reason: 'cut' }),
      )
    const receipt = await receiptOf(await eraseWholeProject(test, message.path, project.owner))
    expect([await contentOf(quoting.id), await contentOf(only.id), await contentOf(other.id)]).toEqual([
      rest,
      '[erased]',
      rest,
    ])
    const edits = await test.db.prisma.messageEdit.findMany({ where: { messageId: quoting.id } })
    expect(edits.map(({ content }) => content)).toEqual([rest])
    expect(receipt).not.toHaveProperty('remaining_mentions')
    expect(receipt.derived).toContainEqual(expect.objectContaining({ store: 'postgresql', cut: 2 }))
  },
)

it('erasure keeps a quotation by a person and lists it', async () => {
  const { project, conversation, message } = await talk()
  const person = await madeMember(test, project)
  const quoting = await madeMessage(test, conversation, person, { content: `She wrote: ${said}` })
  const operator = await madeMessage(test, conversation, project.agent, {
    role: 'assistant',
    content: `As you wrote: ${said}`,
    author: { external_id: 'operator-17' },
  })
  const receipt = await receiptOf(await eraseWholeProject(test, message.path, project.owner))
  expect(await contentOf(quoting.id)).toContain(said)
  expect(await contentOf(operator.id)).toContain(said)
  expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 2 }])
})

it('erasure keeps the words of an older message of an assistant, which a person quoted, and lists it', async () => {
  const { project, conversation, answer } = await talk()
  const original = await answer('assistant', rest)
  test.clock.advance(1_000)
  const quoting = await madeMessage(test, conversation, project.agent, { content: `You wrote: ${rest}` })
  const receipt = await receiptOf(await eraseWholeProject(test, quoting.path, project.owner))
  expect(await contentOf(original.id)).toBe(rest)
  expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 1 }])
})

it("erasure removes a person's words from the keys and references that were reported for others, and nothing else", async () => {
  const { project, conversation, message } = await talk()
  const other = await madeMessage(test, conversation, await madeMember(test, project), { content: rest })
  const asKey = said.toLowerCase().replaceAll(' ', '-')
  const place = 'crm.example.org'
  await reported(test, project, project.owner, [
    { source_id: other.id, store: 'cache', ref: `${project.id}:${asKey}` },
    { source_id: other.id, store: 'objects', ref: `${project.id}/${encodeURIComponent(said)}.txt` },
    { source_id: other.id, store: 'cache', ref: `${project.id}:the-patient-in-room-nine` },
    { source_id: other.id, store: 'outside', place, ref: `ticket: ${said}` },
    { source_id: other.id, store: 'outside', place, ref: `a ticket: ${said}` },
    { source_id: other.id, store: 'outside', place, ref: `ticket: ${rest}` },
  ])
  await eraseWholeProject(test, message.path, project.owner)
  const pointers = await test.db.prisma.provenance.findMany({
    where: { projectId: project.id, sourceId: other.id, ref: { not: other.id } },
    orderBy: { ref: 'asc' },
  })
  expect(pointers.map((one) => [one.store, one.ref, one.place])).toEqual([
    ['outside', expect.stringMatching(/^\[erased\] prov_\w+$/), place],
    ['outside', expect.stringMatching(/^\[erased\] prov_\w+$/), place],
    ['cache', `${project.id}:the-patient-in-room-nine`, ''],
    ['outside', `ticket: ${rest}`, place],
  ])
})

it("erasure cuts a person's name from messages of assistants, unless another person wrote it", async () => {
  const { project, conversation, answer } = await talk()
  const names = ['Marta Kowalczyk', 'Piotr Zielinski']
  const wrote = await Promise.all(
    names.map((name, n) => {
      const author = { external_id: `writer-${n}`, name }
      return madeMessage(test, conversation, project.agent, { content: `I collect cobalt stamps, album ${n}.`, author })
    }),
  )
  test.clock.advance(1_000)
  const answers = await Promise.all(names.map((name) => answer('assistant', `${rest} Noted for ${name}, on Friday.`)))
  const person = await madeMember(test, project)
  await madeMessage(test, conversation, person, { content: `Please call ${names[1]} back.` })
  for (const n of wrote.keys()) {
    const list = `${project.path}/participants?external_id=writer-${n}`
    const [participant] = await dataOf(test, 'GET', list, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    await dataOf(test, 'POST', `${project.path}/participants/${participant.id}/requests`, project.owner, { body })
    await drain(test)
  }
  const [cut, explained] = await Promise.all(answers.map(({ id }) => contentOf(id)))
  expect(cut).toContain(rest)
  expect(cut).not.toContain('Kowalczyk')
  expect(cut).toContain('on Friday')
  expect(explained).toBe(`${rest} Noted for ${names[1]}, on Friday.`)
})
