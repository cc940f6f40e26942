import { expect, test } from '@playwright/test'
import { mayOpen, type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import { type Session, sessionOf } from './control.ts'
import { addresses, asking, everybody, people, roleOf, type Somebody } from './places.ts'

/** What these pages show is the person's own: another finds nothing there, whatever their role. */
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
  // Who closes it by their office sees that it is there, and nothing of what is in it.
  project: ['person', 'manager', 'admin'],
  conversation: ['person'],
  partErasing: ['person'],
  // Managers may retry what stops in a project of their organization.
  partErasure: ['person', 'manager', 'auditor', 'admin'],
}

let at: Record<PageName, string>
const sessions: Partial<Record<Somebody, Session>> = {}
test.beforeAll(async () => {
  at = await addresses()
  for (const [who, email] of Object.entries(people)) sessions[who as Somebody] = await sessionOf(email)
})

/** The answer's status, with where it leads. */
function expected(page: PageEntry & { name: PageName }, who: Somebody): string {
  const role = roleOf(who)
  if (page.name === 'signIn' && role !== undefined) return '307 /overview'
  if (page.roles === undefined) return '200'
  if (role === undefined) return `307 /sign-in?callbackUrl=${encodeURIComponent(at[page.name])}`
  if (!mayOpen(page, role)) return '403'
  return ownOf[page.name]?.includes(who) === false ? '404' : '200'
}

for (const who of everybody)
  test(`every page, opened by ${who === 'nobody' ? 'nobody in particular' : who}, is shown or refused as the list says`, async () => {
    const api = await asking(sessions[who])
    const told: Record<string, string> = {}
    for (const page of pages) {
      const response = await api.get(at[page.name], { maxRedirects: 0, headers: { Accept: 'text/html' } })
      const { location } = response.headers()
      const text = await response.text()
      // What was asked while the answer was on its way is told in the answer itself.
      const late = /NEXT_REDIRECT;replace;([^;]+);(307)|NEXT_HTTP_ERROR_FALLBACK;(404)/.exec(text)
      const status = late?.[2] ?? late?.[3] ?? String(response.status())
      const to = location ?? late?.[1]
      told[page.name] = to === undefined ? status : `${status} ${to}`
      // What is refused says nothing of what is there.
      if (response.status() === 403) expect(text, page.name).not.toMatch(/@example\.(org|com)/)
    }
    expect(told).toEqual(Object.fromEntries(pages.map((page) => [page.name, expected(page, who)])))
    await api.dispose()
  })
