import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { signedIn } from '#lib/testing/people.ts'
import { type MadeProject, madeProject } from '#lib/testing/projects.ts'
import { accountDirectory } from '../../accounts/queries.ts'
import { gatheredSources } from './gathered-sources.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

async function participant({ id: projectId, agent }: MadeProject, name: string): Promise<string> {
  const [id, now] = [newId('ptp'), test.clock.now()]
  await test.db.prisma.projectParticipant.create({
    data: { id, projectId, externalId: id, name, createdBy: agent.id, createdAt: now, updatedAt: now },
  })
  return id
}
const namesOf = (of: string, projects: string[], account?: { id: string; email: string }) =>
  test.db.transaction((tx) =>
    gatheredSources({
      namesOf: async () => (account ? [account.email] : []),
      isBorneByOthers: accountDirectory.isBorneByOthers,
    }).names({ subject: { account: account?.id ?? null, agents: [], participants: [of] } }, tx, new Set(projects)),
  )

it.each(['Juergen Mueller', 'Müller, Jürgen', 'Dr. Jürgen Müller'])(
  'a name identifies nobody when another participant is stored as %s',
  async (other) => {
    const project = await madeProject(test)
    const own = await participant(project, 'Jürgen Müller')
    await participant(project, 'Anna Müller')
    expect(await namesOf(own, [project.id])).toEqual({ certain: ['Jürgen Müller'], uncertain: [] })
    await participant(project, other)
    expect(await namesOf(own, [project.id])).toEqual({ certain: [], uncertain: ['Jürgen Müller'] })
  },
)
it('a name identifies nobody when an account has it in another form', async () => {
  const project = await madeProject(test)
  const own = await participant(project, 'Jörg Größer')
  expect((await namesOf(own, [project.id])).certain).toEqual(['Jörg Größer'])
  const { accountId } = await signedIn(test)
  await test.db.prisma.account.update({ where: { id: accountId }, data: { name: 'Groesser, Joerg' } })
  expect((await namesOf(own, [project.id])).uncertain).toEqual(['Jörg Größer'])
})
it('an email address names the participant only after somebody who speaks for the project confirmed it', async () => {
  const project = await madeProject(test)
  const own = await participant(project, 'Odile Fontaine')
  const email = 'odile@mail.example'
  const store = (emailConfirmed: boolean) =>
    test.db.prisma.projectParticipant.update({ where: { id: own }, data: { email, emailConfirmed } })
  await store(false)
  expect(await namesOf(own, [project.id])).toEqual({ certain: ['Odile Fontaine'], uncertain: [email] })
  await store(true)
  expect(await namesOf(own, [project.id])).toEqual({ certain: ['Odile Fontaine', email], uncertain: [] })
})
it('the address of the account names the person, also if nobody confirmed it for a participation', async () => {
  const project = await madeProject(test)
  const { accountId: id } = await signedIn(test)
  const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id } })
  const own = await participant(project, 'Mirela Ionescu')
  await test.db.prisma.projectParticipant.update({ where: { id: own }, data: { email, emailConfirmed: false } })
  expect((await namesOf(own, [project.id])).uncertain).toEqual([email])
  expect((await namesOf(own, [project.id], { id, email })).certain).toContain(email)
})
