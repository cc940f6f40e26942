import { afterAll, beforeAll, expect, it } from 'vitest'
import { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf, madeMember, madeProject } from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

/** The numbers of projects that an erasure of the person deletes, and that they own and it does not delete. */
async function plannedOf(person: Person) {
  const plan = planErasure.output.shape.data.parse(await dataOf(test, 'GET', '/api/privacy/plan', person))
  const deleted = plan.holdings.find(({ holder }) => holder === 'projects.projects')?.count
  return { deleted, remaining: plan.remaining_projects }
}
const isRemaining = { remaining_projects: 1 }

it('a plan counts a shared project that the person owns, and not an empty one that they created and left', async () => {
  const shared = await madeProject(test)
  const person = shared.owner
  const member = await madeMember(test, shared)
  const left = await madeProject(test, { owner: person })
  await test.db.prisma.projectMember.deleteMany({ where: { projectId: left.id } })
  expect(await plannedOf(person)).toEqual({ deleted: 1, remaining: 1 })
  expect(await plannedOf(member)).toEqual({ deleted: 0, remaining: 0 })
})

it('a plan counts more than 100 shared projects, without closed ones', async () => {
  const { owner, id } = await madeProject(test)
  const other = await signedIn(test, 'person', owner.organisationId)
  const now = test.clock.now()
  const base = await test.db.prisma.project.findUniqueOrThrow({ where: { id } })
  const ids = Array.from({ length: 120 }, (_, n) => `${id}_${n}`)
  await test.db.prisma.project.createMany({
    data: ids.map((one) => ({
      id: one,
      groupId: one,
      name: 'Shared',
      organisationId: base.organisationId,
      createdBy: base.createdBy,
      createdAt: now,
      updatedAt: now,
    })),
  })
  for (const [memberId, role] of [
    [owner.accountId, 'owner'],
    [other.accountId, 'member'],
  ] as const)
    await test.db.prisma.projectMember.createMany({
      data: ids.map((projectId) => ({
        projectId,
        kind: 'account',
        memberId,
        role,
        addedBy: base.createdBy,
        addedAt: now,
      })),
    })
  await test.db.prisma.project.updateMany({ where: { id: { in: ids.slice(0, 5) } }, data: { status: 'closed' } })
  expect(await plannedOf(owner)).toEqual({ deleted: 1, remaining: 115 })
})

it('a plan counts what an agent owns for its owner', async () => {
  const shared = await madeProject(test)
  const agent = await test.db.prisma.projectMember.updateMany({
    where: { projectId: shared.id, kind: 'agent' },
    data: { role: 'owner' },
  })
  expect(agent.count).toBe(1)
  const heir = await madeMember(test, shared, 'owner')
  await test.db.prisma.projectMember.deleteMany({ where: { projectId: shared.id, memberId: shared.owner.accountId } })
  expect(await dataOf(test, 'GET', '/api/privacy/plan', shared.owner)).toMatchObject(isRemaining)
  const ofAgent = await dataOf(test, 'GET', `/api/privacy/plan?agent_id=${shared.agent.id}`, shared.owner)
  expect(ofAgent).toMatchObject(isRemaining)
  expect((await plannedOf(heir)).remaining).toBe(1)
})
