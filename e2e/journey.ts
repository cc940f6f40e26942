import { type APIRequestContext, expect, type Page } from '@playwright/test'
import { z } from 'zod'

/**
 * Whether the browser's interface asked for the address. Chromium and Chrome request the icon of a page when they like, also while the server is
 * down; the headless shell has no interface.
 */
const isOfInterface = (address: string): boolean => /\/(?:icon\.svg|favicon\.ico)(?:\?|$)/.test(address)

/** Problems that the browser reports: policy violations, failed hydration, requests without a response, and console messages. */
export function complaintsOf(page: Page): string[] {
  const said: string[] = []
  watchTexts(page).catch(() => {}) // fails only if the page is closed
  page.on('console', (message) => {
    const isProblem = message.type() === 'error' || message.type() === 'warning'
    // The browser says this of a file that a busy machine uses some seconds after it has loaded it.
    if (
      isProblem &&
      !isOfInterface(message.location().url) &&
      !message.text().includes('was preloaded using link preload but not used')
    )
      said.push(message.text())
  })
  page.on('pageerror', (error) => said.push(error.message))
  // Leaving a page aborts its open requests.
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? ''
    if (why !== 'net::ERR_ABORTED' && !isOfInterface(request.url()))
      said.push(`${request.method()} ${request.url()}: ${why}`)
  })
  return said
}

/** Reports texts that show a value of the program instead of a name or a number. Runs in the page. */
function reportWrongTexts(): void {
  const check = (text: Node): void => {
    if (!/\b(undefined|NaN)\b|\[object |Invalid Date/.test(text.nodeValue ?? '')) return
    if (text.parentElement?.closest('code, pre, script, style, textarea')) return
    console.error(`The page shows “${text.nodeValue?.slice(0, 200)}”`)
  }
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === 'characterData') check(target)
      for (const node of addedNodes) {
        const texts = document.createNodeIterator(node, NodeFilter.SHOW_TEXT)
        for (let text = texts.nextNode(); text; text = texts.nextNode()) check(text)
      }
    }
  }).observe(document, { subtree: true, childList: true, characterData: true })
}
const watchTexts = (page: Page): Promise<unknown> => page.addInitScript(reportWrongTexts)

/** The text of a place of a deletion that shows all its records as left: "310of 310 left". */
export const hasAllLeft = /([1-9][\d,]*)of \1 left/

export async function fillSignIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await expect(page.getByLabel('Email', { exact: true })).toBeVisible()
  await alive(page)
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click()
}

/**
 * Resolves when the page is interactive and has run its effects, with which its keys begin to work. Before that, the browser handles clicks, and
 * keys are lost.
 */
export async function alive(page: Page): Promise<void> {
  await page.waitForFunction(async () => {
    // A document that is still loading may have none of its elements yet. React does not hydrate the hidden field of a server action.
    if (document.readyState !== 'complete') return false
    const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
    if (!all.every((element) => Object.keys(element).some((key) => key.startsWith('__reactProps$')))) return false
    // React runs effects in a task of their own after the commit. The browser is idle only when no task waits.
    await new Promise<void>((done) => requestIdleCallback(() => done(), { timeout: 5_000 }))
    return true
  })
}

/** Closes the open dialog or menu with Escape. It listens to keys once it has taken the focus, which may be after it is visible. */
export async function closeWithEscape(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.activeElement?.closest('[role=dialog], [role=menu]') != null))
    .toBe(true)
  await page.keyboard.press('Escape')
}

export async function signOutInBrowser(page: Page): Promise<void> {
  await alive(page)
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
}

const Registered = z.object({ data: z.object({ agent_id: z.string(), api_key: z.string() }) })
/** Registers a new agent like any program. */
export async function registerJourneyAgent(request: APIRequestContext, name: string) {
  const response = await request.post('/v1/auth/register', { data: { name, scopes: ['read', 'write'] } })
  expect(response.status()).toBe(201)
  const { data } = Registered.parse(await response.json())
  return { id: data.agent_id, token: data.api_key }
}

/** A valid reasoning trace. */
export const unitOf = (objective: string, visibility: 'network' | 'private' = 'private') => ({
  '@context': 'https://openknowledgepulse.org/schema/v1',
  '@type': 'ReasoningTrace',
  metadata: {
    created_at: '2026-01-31T12:00:00Z',
    task_domain: 'code',
    success: true,
    quality_score: 0.5,
    visibility,
    privacy_level: visibility === 'network' ? 'aggregated' : 'private',
  },
  task: { objective },
  steps: [{ step_id: 1, type: 'thought', content: 'Measure first' }],
  outcome: { result_summary: 'The cache was off', confidence: 0.9 },
})
const Stored = z.object({ data: z.object({ id: z.string() }) })

/** Contributes a unit and erases it. Returns the ids of the unit and its receipt. */
export async function eraseOne(request: APIRequestContext, token: string): Promise<{ unit: string; receipt: string }> {
  const headers = { Authorization: `Bearer ${token}` }
  const stored = await request.post('/v1/knowledge', { data: unitOf('Find out why the build is slow'), headers })
  expect(stored.status()).toBe(201)
  const { id } = Stored.parse(await stored.json()).data
  const erased = await request.delete(`/v1/knowledge/${id}`, { headers })
  expect(erased.status()).toBe(204)
  return { unit: id, receipt: z.string().parse(erased.headers()['x-deletion-receipt']) }
}
