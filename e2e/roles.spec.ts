import { expect, test } from '@playwright/test'
import { mayOpen, type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { type BrowserSession, sessionOf } from './control.ts'
import { accountRoleOf, addresses, everybody, people, requestContext, type Somebody } from './requests.ts'

/** Pages with a person's own records: other people get 404, whatever their role. */
const ownOf: Partial<Record<PageName, readonly Somebody[]>> = {
  ownRequest: ['person'],
  unit: ['person'],
  agent: ['person'],
  agentGrimoire: ['person'],
  agentDocuments: ['person'],
  agentDocument: ['person'],
  agentSharing: ['person'],
  agentSnapshots: ['person'],
  agentRecords: ['person'],
  // Managers and admins, who may close a project, see that it exists, but not its content.
  project: ['person', 'manager', 'admin'],
  conversation: ['person'],
  // Only owners, managers and admins act for participants.
  participant: ['person', 'manager', 'admin'],
  partErasing: ['person'],
  // Managers may retry stopped erasures in a project of their organization.
  partErasure: ['person', 'manager', 'auditor', 'admin'],
}

let at: Record<PageName, string>
const sessions: Partial<Record<Somebody, BrowserSession>> = {}
test.beforeAll(async () => {
  at = await addresses()
  for (const [who, email] of Object.entries(people)) sessions[who as Somebody] = await sessionOf(email)
})

/** The expected status, with the address of a redirect. */
function expected(page: PageEntry & { name: PageName }, who: Somebody): string {
  const role = accountRoleOf(who)
  if (page.name === 'signIn' && role !== undefined) return '307 /overview'
  if (page.roles === undefined) return '200'
  if (role === undefined) return `307 /sign-in?callbackUrl=${encodeURIComponent(at[page.name])}`
  if (!mayOpen(page, role)) return '403'
  return ownOf[page.name]?.includes(who) === false ? '404' : '200'
}

for (const who of everybody)
  test(`every page opened by ${who === 'nobody' ? 'an anonymous reader' : who} returns the status of the list`, async () => {
    const api = await requestContext(sessions[who])
    const told: Record<string, string> = {}
    for (const page of pages) {
      const response = await api.get(at[page.name], { maxRedirects: 0, headers: { Accept: 'text/html' } })
      const { location } = response.headers()
      const text = await response.text()
      // A result that arrives after the headers were sent is in the response body.
      const late = /NEXT_REDIRECT;replace;([^;]+);(307)|NEXT_HTTP_ERROR_FALLBACK;(404)/.exec(text)
      const status = late?.[2] ?? late?.[3] ?? String(response.status())
      const to = location ?? late?.[1]
      told[page.name] = to === undefined ? status : `${status} ${to}`
      // A rejected page contains no data.
      if (response.status() === 403) expect(text, page.name).not.toMatch(/@example\.(org|com)/)
    }
    expect(told).toEqual(Object.fromEntries(pages.map((page) => [page.name, expected(page, who)])))
    await api.dispose()
  })
