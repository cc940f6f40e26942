import { type APIRequestContext, expect, type Page } from '@playwright/test'
import { z } from 'zod'

/** Problems that the browser reports: policy violations, failed hydration, requests without a response, and console messages. */
export function complaintsOf(page: Page): string[] {
  const said: string[] = []
  watchTexts(page).catch(() => {}) // fails only if the page is closed
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') said.push(message.text())
  })
  page.on('pageerror', (error) => said.push(error.message))
  // Leaving a page aborts its open requests.
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? ''
    if (why !== 'net::ERR_ABORTED') said.push(`${request.method()} ${request.url()}: ${why}`)
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

export async function fillSignIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await expect(page.getByLabel('Email', { exact: true })).toBeVisible()
  await alive(page)
  await page.getByLabel('Email', { exact: true }).fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Resolves when the page is interactive. Before that, the browser handles clicks. */
export async function alive(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    // A document that is still loading may have none of its elements yet. React does not hydrate the hidden field of a server action.
    if (document.readyState !== 'complete') return false
    const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
    return all.every((element) => Object.keys(element).some((key) => key.startsWith('__reactProps$')))
  })
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
