import { type Browser, expect, type Locator, type Page } from '@playwright/test'
import { sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { people } from './requests.ts'

const most = { actions: 6, milliseconds: 30_000 }

/** An admin at work, from the overview on. Clicks, filled fields, chosen options and pressed keys count as actions. */
export class CountedWork {
  readonly page: Page
  actions = 0
  readonly #since = Date.now()
  constructor(page: Page) {
    this.page = page
  }
  async click(target: Locator): Promise<void> {
    this.actions += 1
    await target.click()
  }
  async fill(target: Locator, text: string): Promise<void> {
    this.actions += 1
    await target.fill(text)
  }
  async choose(target: Locator, option: { index: number } | { label: string }): Promise<void> {
    this.actions += 1
    await target.selectOption(option)
  }
  async press(keys: string): Promise<void> {
    this.actions += 1
    await this.page.keyboard.press(keys)
  }
  /** Follows a link of the sidebar. A badge may follow the name. */
  async open(name: string, heading: string): Promise<void> {
    await this.click(this.page.getByRole('link', { name: new RegExp(`^${name}( |$)`) }).first())
    await expect(this.page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
    await alive(this.page)
  }
  /** Opens the first result of the command palette. */
  async find(text: string, result: string | RegExp): Promise<void> {
    await this.click(this.page.getByRole('button', { name: 'Search', exact: true }))
    await this.fill(this.page.getByRole('combobox', { name: 'Search' }), text)
    await expect(this.page.getByRole('option').first()).toContainText(result)
    await this.press('Enter')
    await expect(this.page.getByRole('dialog')).toHaveCount(0)
  }
  /** Fails if the task took too many actions or too long. */
  async finish(): Promise<void> {
    const [actions, milliseconds] = [this.actions, Date.now() - this.#since]
    console.log(JSON.stringify({ actions, seconds: Math.round(milliseconds / 100) / 10 }))
    expect(actions).toBeLessThanOrEqual(most.actions)
    expect(milliseconds).toBeLessThan(most.milliseconds)
  }
}

/** Runs the work in a new browser session. `expected` are complaints of the browser that belong to it. */
export async function asAdmin(
  browser: Browser,
  work: (admin: CountedWork) => Promise<void>,
  expected = /^$/,
): Promise<void> {
  const context = await browser.newContext({
    storageState: await sessionOf(people.admin),
    viewport: { width: 1280, height: 800 },
  })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/overview')
  await alive(page)
  await work(new CountedWork(page))
  expect(complaints.filter((one) => !expected.test(one))).toEqual([])
  await context.close()
}
