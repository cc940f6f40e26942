import { type APIRequestContext, type Browser, expect, type Page, test } from '@playwright/test'
import { z } from 'zod'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people, requestContext } from './requests.ts'

const Users = z.object({ data: z.array(z.object({ account_id: z.string(), email: z.string(), role: z.string() })) })
const Made = z.object({ data: z.object({ proposal_id: z.string() }) })
const Setting = z.object({ data: z.object({ is_on: z.boolean() }) })
const setting = '/api/admin/approvals'

async function userOf(api: APIRequestContext, email: string) {
  const { data } = Users.parse(await (await api.get(`/api/admin/users?q=${encodeURIComponent(email)}`)).json())
  const user = data.find((one) => one.email === email)
  if (!user) throw new Error(`${email} has no account`)
  return user
}
async function setRole(api: APIRequestContext, email: string, role: string): Promise<void> {
  const { account_id: id } = await userOf(api, email)
  expect((await api.patch(`/api/admin/users/${id}`, { data: { role } })).status()).toBe(200)
}
async function opened(browser: Browser, email: string): Promise<Page> {
  const context = await browser.newContext({ storageState: await sessionOf(email) })
  return context.newPage()
}
const proposal = (page: Page, group: string, name: string) =>
  page
    .locator(`#${group}`)
    .getByRole('listitem')
    .filter({ has: page.getByRole('heading', { name }) })
/** Presses the button of a step, and confirms it. */
async function take(page: Page, { group, name, step }: { group: string; name: string; step: string }): Promise<void> {
  await page.goto('/admin/approvals')
  await alive(page)
  await proposal(page, group, name).first().getByRole('button', { name: step }).click()
  await page.getByRole('dialog').getByRole('button', { name: step, exact: true }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
}

test.afterAll(async () => {
  // The other journeys share the installation.
  const [admin, second] = [
    await requestContext(await sessionOf(people.admin)),
    await requestContext(await sessionOf(people.auditor)),
  ]
  if (Setting.parse(await (await admin.get(setting)).json()).data.is_on) {
    const body = { operation: 'changeApprovalSetting', body: { is_on: false } }
    const { data } = Made.parse(await (await admin.post('/api/admin/proposals', { data: body })).json())
    await second.post(`/api/admin/proposals/${data.proposal_id}/decision`, { data: { decision: 'approve' } })
    await admin.put(setting, { data: { is_on: false } })
  }
  await setRole(admin, people.auditor, 'auditor')
  await setRole(admin, people.person, 'person')
  await admin.dispose()
  await second.dispose()
})

test('an admin asks for approval, another admin decides, and the first one carries it out', async ({ browser }) => {
  const api = await requestContext(await sessionOf(people.admin))
  await setRole(api, people.auditor, 'admin')
  const [one, two] = [await opened(browser, people.admin), await opened(browser, people.auditor)]
  const complaints = complaintsOf(two)
  const role = { name: 'Change a role' }

  await test.step('an admin requires approvals', async () => {
    await one.goto('/admin/approvals')
    await alive(one)
    await one.getByRole('button', { name: 'Require approvals' }).click()
    await one.getByRole('dialog').getByRole('button', { name: 'Require approvals' }).click()
    await expect(one.locator('#setting').getByText('Required', { exact: true })).toBeVisible()
  })

  await test.step('a change of a role asks for approval, and changes nothing', async () => {
    const { account_id: id } = await userOf(api, people.person)
    await expect(async () => {
      await one.goto(`/admin/users/${id}`)
      await alive(one)
      await one.getByRole('radio', { name: 'Auditor' }).check()
      await one.getByRole('button', { name: 'Change role' }).click()
      await expect(one.getByRole('dialog').getByRole('button', { name: 'Ask for approval' })).toBeVisible({
        timeout: 5_000,
      })
    }).toPass()
    await one.getByRole('dialog').getByRole('button', { name: 'Ask for approval' }).click()
    await expect(one.getByRole('dialog').getByText('Approval requested')).toBeVisible()
    await one.getByRole('dialog').getByRole('link', { name: 'Open Approvals' }).click()
    await expect(one).toHaveURL('/admin/approvals')
    expect((await userOf(api, people.person)).role).toBe('person')
  })

  await test.step('the proposer cannot approve it', async () => {
    const own = proposal(one, 'yours', role.name)
    await expect(own.getByText('Waiting', { exact: true })).toBeVisible()
    await expect(own.getByRole('button', { name: 'Approve' })).toHaveCount(0)
    await expect(own.getByRole('button', { name: 'Withdraw' })).toBeVisible()
  })

  await test.step('another admin sees what would change, and approves', async () => {
    await two.goto('/admin/approvals')
    await expect(two.getByRole('link', { name: /^Approvals.*1/ }).first()).toBeVisible()
    await expect(proposal(two, 'forYou', role.name).getByText(people.person)).toBeVisible()
    await take(two, { ...role, group: 'forYou', step: 'Approve' })
    await expect(proposal(two, 'others', role.name).first().getByText('Approved', { exact: true })).toBeVisible()
    expect((await userOf(api, people.person)).role).toBe('person')
  })

  await test.step('the proposer carries it out, once', async () => {
    await take(one, { ...role, group: 'yours', step: 'Carry out' })
    await expect(proposal(one, 'others', role.name).first().getByText('Carried out', { exact: true })).toBeVisible()
    expect((await userOf(api, people.person)).role).toBe('auditor')
    await expect(one.getByRole('button', { name: 'Carry out' })).toHaveCount(0)
  })

  await test.step('a proposal whose target has changed is reported and not carried out', async () => {
    const { account_id: id } = await userOf(api, people.person)
    const second = await requestContext(await sessionOf(people.auditor))
    for (const next of ['manager', 'person']) {
      const proposed = { operation: 'changeUserRole', params: { id }, body: { role: next } }
      const { data } = Made.parse(await (await api.post('/api/admin/proposals', { data: proposed })).json())
      const decided = await second.post(`/api/admin/proposals/${data.proposal_id}/decision`, {
        data: { decision: 'approve' },
      })
      expect(decided.status()).toBe(200)
    }
    await second.dispose()
    await setRole(api, people.person, 'manager')
    await one.goto('/admin/approvals')
    await alive(one)
    await proposal(one, 'yours', role.name).getByRole('button', { name: 'Carry out' }).click()
    const dialog = one.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Carry out', exact: true }).click()
    await expect(dialog.getByRole('alert')).toContainText('The target or the admins changed after the proposal.')
    expect((await userOf(api, people.person)).role).toBe('manager')
  })

  await test.step('a legal hold whose approval was requested leaves no draft', async () => {
    const { account_id: id } = await userOf(api, people.person)
    await one.goto('/admin/holds')
    await alive(one)
    const dialog = one.getByRole('dialog')
    const open = () => one.getByRole('button', { name: 'Set hold' }).first().click()
    await open()
    await dialog.getByLabel('Target type').selectOption('account')
    await dialog.getByRole('combobox', { name: 'Target', exact: true }).fill(id)
    await dialog.getByLabel('Reason').fill('Case 19/2026')
    await dialog.getByRole('button', { name: 'Ask for approval' }).click()
    await expect(dialog.getByText('Approval requested')).toBeVisible()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await open()
    await expect(dialog.getByLabel('Reason')).toHaveValue('')
    await expect(dialog.getByRole('combobox', { name: 'Target', exact: true })).toHaveValue('')
  })

  await test.step('retention periods whose approval was requested leave no draft', async () => {
    await one.goto('/admin/retention')
    await alive(one)
    const days = one.getByLabel('Private: days')
    const before = await days.inputValue()
    await days.fill('21')
    await one.getByRole('button', { name: 'Preview' }).click()
    await one.getByRole('button', { name: 'Save periods' }).click()
    const dialog = one.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Ask for approval' }).click()
    await expect(dialog.getByText('Approval requested')).toBeVisible()
    await one.reload()
    await alive(one)
    await expect(days).toHaveValue(before)
  })

  const stop = { name: 'Stop requiring approvals' }
  const askToStop = async () => {
    await one.goto('/admin/approvals')
    await alive(one)
    await one.locator('#setting').getByRole('button', stop).click()
    await one.getByRole('dialog').getByRole('button', { name: 'Ask for approval' }).click()
    await expect(one.getByRole('dialog').getByText('Approval requested')).toBeVisible()
    await one.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
  }
  await test.step('a rejected proposal changes nothing', async () => {
    await askToStop()
    await take(two, { ...stop, group: 'forYou', step: 'Reject' })
    await one.goto('/admin/approvals')
    await expect(proposal(one, 'others', stop.name).first().getByText('Rejected', { exact: true })).toBeVisible()
    await expect(one.locator('#setting').getByText('Required', { exact: true })).toBeVisible()
  })
  await test.step('the requirement ends with the approval of another admin', async () => {
    await askToStop()
    await take(two, { ...stop, group: 'forYou', step: 'Approve' })
    await take(one, { ...stop, group: 'yours', step: 'Carry out' })
    await expect(one.locator('#setting').getByText('Not required')).toBeVisible()
  })
  expect(complaints).toEqual([])
  await api.dispose()
})
