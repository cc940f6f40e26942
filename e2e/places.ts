import { type APIRequestContext, request as requests } from '@playwright/test'
import { z } from 'zod'
import { mayOpen, type PageEntry, type PageName, pages } from '#components/frame/pages.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { installation, type Session, sessionOf } from './control.ts'

/** Somebody of the demo for each role; `stranger` is a person of the other organisation. */
export const people = {
  person: 'ben@example.org',
  manager: 'mara@example.org',
  auditor: 'iris@example.org',
  admin: 'ada@example.org',
  stranger: 'pia@example.com',
} as const
export type Somebody = keyof typeof people | 'nobody'
export const everybody = ['nobody', ...Object.keys(people)] as readonly Somebody[]
export const roleOf = (who: Somebody): Role | undefined =>
  who === 'nobody' ? undefined : who === 'stranger' ? 'person' : who

/** Whose session opens it: nobody's, the person's, or the admin's, who may open whatever the person may not. */
export const areaOf = (page: PageEntry): PageEntry['area'] =>
  page.roles === undefined ? 'public' : mayOpen(page, 'person') ? 'you' : 'admin'

/** Requests as a page of the console makes them. */
export const asking = (session?: Session): Promise<APIRequestContext> =>
  requests.newContext({
    baseURL: installation().origin,
    ...(session && {
      storageState: session,
      extraHTTPHeaders: { Origin: installation().origin, 'Sec-Fetch-Site': 'same-origin' },
    }),
  })

const Ids = z.object({ data: z.array(z.object({ id: z.string() })) })
const first = async (api: APIRequestContext, path: string): Promise<string> => {
  const response = await api.get(path)
  const [row] = Ids.parse(await response.json()).data
  if (!row) throw new Error(`${path} lists nothing`)
  return row.id
}
const Runs = z.object({ data: z.array(z.object({ run_id: z.string(), receipt_id: z.string().nullable() })) })
const Account = z.object({ data: z.object({ account_id: z.string() }) })

/** An address for each page of the list; what is named in it is of the demo's person. */
export async function addresses(): Promise<Record<PageName, string>> {
  const [person, admin] = await Promise.all([sessionOf(people.person), sessionOf(people.admin)])
  const [own, office] = await Promise.all([asking(person), asking(admin)])
  try {
    const runs = Runs.parse(await (await office.get('/api/erasures')).json()).data
    const done = runs.find(({ receipt_id }) => receipt_id !== null)
    if (!done?.receipt_id) throw new Error('nothing is erased yet')
    const { account_id } = Account.parse(await (await own.get('/api/account')).json()).data
    const ids: Partial<Record<PageName, string>> = {
      receipt: done.receipt_id,
      ownRequest: await first(own, '/api/privacy/requests'),
      unit: await first(own, '/v1/knowledge?visibility=private&agent_id=build-helper'),
      agent: 'build-helper',
      request: await first(office, '/api/admin/privacy/requests?open=true'),
      erasure: done.run_id,
      tieredAgent: 'build-helper',
      user: account_id,
    }
    const addressOf = ({ name, path }: PageEntry & { name: PageName }): [PageName, string] => {
      const id = ids[name]
      if (path.includes('[id]') && id === undefined) throw new Error(`nobody knows an id for the page "${name}"`)
      return [name, path.replace('[id]', encodeURIComponent(id ?? ''))]
    }
    return Object.fromEntries(pages.map(addressOf)) as Record<PageName, string>
  } finally {
    await own.dispose()
    await office.dispose()
  }
}
