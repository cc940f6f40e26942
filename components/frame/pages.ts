import { type Role, roles } from '#lib/domains/accounts/rules.ts'

export type Area = 'public' | 'you' | 'admin'
export interface PageEntry {
  /** Also the message key of its title. */
  name: string
  /** The route pattern, with `[id]` for a dynamic segment. */
  path: `/${string}`
  area: Area
  /** Roles that may open the page. Absent: everybody may, also without sign-in. */
  roles?: readonly Role[]
  /** Listed in the navigation of its area. */
  isInNavigation?: true
  /** The two keys, pressed one after the other, that open the page. */
  keys?: `g ${string}`
  /** Also open to people whose erasure has just ended their session. The page does its own access check. */
  isOpenToErased?: true
  /** Also open to people who still have a one-time password. */
  isOpenToUnsettled?: true
  /** Also open to people who must have a second factor and have none: it adds one, or is about their own data. */
  isOpenWithoutFactor?: true
}

const everybody = roles
const page = <const P extends PageEntry>(entry: P): P => entry

/** Every page of the console. Navigation, command palette, access guards and browser tests are derived from this list. */
export const pages = [
  page({ name: 'home', path: '/', area: 'public' }),
  page({ name: 'signIn', path: '/sign-in', area: 'public' }),
  page({ name: 'forgotten', path: '/password/forgotten', area: 'public' }),
  page({ name: 'newPassword', path: '/password/new', area: 'public' }),
  page({ name: 'notice', path: '/privacy', area: 'public' }),
  page({ name: 'confirm', path: '/privacy/confirm', area: 'public' }),
  page({ name: 'unsubscribe', path: '/emails/unsubscribe', area: 'public' }),
  page({ name: 'publicForm', path: '/request', area: 'public' }),
  page({ name: 'formConfirm', path: '/request/confirm', area: 'public' }),
  page({ name: 'formStatus', path: '/request/status', area: 'public' }),
  page({ name: 'formEmbed', path: '/embed/request', area: 'public' }),
  page({ name: 'verify', path: '/verify', area: 'public' }),
  page({ name: 'reference', path: '/docs/api', area: 'public' }),
  page({ name: 'referenceGroup', path: '/docs/api/[group]', area: 'public' }),
  page({ name: 'receipt', path: '/receipts/[id]', area: 'public' }),

  page({ name: 'welcome', path: '/welcome', area: 'you', roles: everybody }),
  page({ name: 'overview', path: '/overview', area: 'you', roles: everybody, isInNavigation: true, keys: 'g o' }),
  page({
    name: 'privacy',
    path: '/settings/privacy',
    area: 'you',
    roles: everybody,
    isInNavigation: true,
    keys: 'g p',
    isOpenWithoutFactor: true,
  }),
  page({
    name: 'deletion',
    path: '/settings/privacy/delete',
    area: 'you',
    roles: everybody,
    isOpenToErased: true,
    isOpenWithoutFactor: true,
  }),
  page({
    name: 'ownRequests',
    path: '/settings/privacy/requests',
    area: 'you',
    roles: everybody,
    isOpenWithoutFactor: true,
  }),
  page({
    name: 'ownRequest',
    path: '/settings/privacy/requests/[id]',
    area: 'you',
    roles: everybody,
    isOpenWithoutFactor: true,
  }),
  page({
    name: 'ownReceipts',
    path: '/settings/privacy/receipts',
    area: 'you',
    roles: everybody,
    isInNavigation: true,
    isOpenWithoutFactor: true,
  }),
  page({ name: 'knowledge', path: '/knowledge', area: 'you', roles: everybody, isInNavigation: true, keys: 'g k' }),
  page({ name: 'unit', path: '/knowledge/[id]', area: 'you', roles: everybody }),
  page({ name: 'agents', path: '/agents', area: 'you', roles: everybody, isInNavigation: true, keys: 'g n' }),
  page({ name: 'agent', path: '/agents/[id]', area: 'you', roles: everybody }),
  page({ name: 'agentGrimoire', path: '/agents/[id]/grimoire', area: 'you', roles: everybody }),
  page({ name: 'agentDocuments', path: '/agents/[id]/documents', area: 'you', roles: everybody }),
  page({ name: 'agentDocument', path: '/agents/[id]/documents/[documentId]', area: 'you', roles: everybody }),
  page({ name: 'agentSharing', path: '/agents/[id]/sharing', area: 'you', roles: everybody }),
  page({ name: 'agentSnapshots', path: '/agents/[id]/snapshots', area: 'you', roles: everybody }),
  page({ name: 'agentRecords', path: '/agents/[id]/records', area: 'you', roles: everybody }),
  page({ name: 'tokens', path: '/tokens', area: 'you', roles: everybody, isInNavigation: true, keys: 'g t' }),
  page({ name: 'projects', path: '/projects', area: 'you', roles: everybody, isInNavigation: true, keys: 'g j' }),
  page({ name: 'project', path: '/projects/[id]', area: 'you', roles: everybody }),
  page({
    name: 'conversation',
    path: '/projects/[id]/conversations/[conversationId]',
    area: 'you',
    roles: everybody,
  }),
  page({ name: 'participant', path: '/projects/[id]/participants/[participantId]', area: 'you', roles: everybody }),
  page({ name: 'partErasing', path: '/projects/[id]/erase', area: 'you', roles: everybody }),
  page({ name: 'partErasure', path: '/projects/[id]/erasures/[auditId]', area: 'you', roles: everybody }),
  page({
    name: 'members',
    path: '/members',
    area: 'you',
    roles: ['manager', 'admin'],
    isInNavigation: true,
    keys: 'g m',
  }),
  page({ name: 'telemetry', path: '/telemetry', area: 'you', roles: everybody }),
  page({ name: 'account', path: '/account', area: 'you', roles: everybody }),
  page({
    name: 'password',
    path: '/account/password',
    area: 'you',
    roles: everybody,
    isOpenToUnsettled: true,
    isOpenWithoutFactor: true,
  }),
  page({
    name: 'secondFactor',
    path: '/account/second-factor',
    area: 'you',
    roles: everybody,
    isOpenWithoutFactor: true,
  }),

  page({
    name: 'requests',
    path: '/admin/requests',
    area: 'admin',
    roles: ['admin'],
    isInNavigation: true,
    keys: 'g r',
  }),
  page({ name: 'filing', path: '/admin/requests/new', area: 'admin', roles: ['admin'] }),
  page({ name: 'formSettings', path: '/admin/requests/form', area: 'admin', roles: ['admin'] }),
  page({ name: 'request', path: '/admin/requests/[id]', area: 'admin', roles: ['admin'] }),
  page({
    name: 'erasures',
    path: '/admin/erasures',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g e',
  }),
  page({ name: 'erasure', path: '/admin/erasures/[id]', area: 'admin', roles: ['admin', 'auditor'] }),
  page({
    name: 'deletionLog',
    path: '/admin/deletion-log',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g x',
  }),
  page({
    name: 'audit',
    path: '/admin/audit',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g a',
  }),
  page({
    name: 'retention',
    path: '/admin/retention',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g d',
  }),
  page({
    name: 'stores',
    path: '/admin/stores',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g w',
  }),
  page({
    name: 'storeSearch',
    path: '/admin/stores/search',
    area: 'admin',
    roles: ['admin'],
    isInNavigation: true,
    keys: 'g f',
  }),
  page({ name: 'tiers', path: '/admin/tokens', area: 'admin', roles: ['admin'], isInNavigation: true, keys: 'g l' }),
  page({ name: 'tieredAgent', path: '/admin/tokens/[id]', area: 'admin', roles: ['admin'] }),
  page({ name: 'users', path: '/admin/users', area: 'admin', roles: ['admin'], isInNavigation: true, keys: 'g u' }),
  page({ name: 'user', path: '/admin/users/[id]', area: 'admin', roles: ['admin'] }),
  page({
    name: 'security',
    path: '/admin/security',
    area: 'admin',
    roles: ['admin'],
    isInNavigation: true,
    keys: 'g y',
  }),
  page({
    name: 'approvals',
    path: '/admin/approvals',
    area: 'admin',
    roles: ['admin'],
    isInNavigation: true,
    keys: 'g v',
  }),
  page({ name: 'holds', path: '/admin/holds', area: 'admin', roles: ['admin'], isInNavigation: true, keys: 'g h' }),
  page({ name: 'safety', path: '/admin/safety', area: 'admin', roles: ['admin'], isInNavigation: true, keys: 'g s' }),
  page({
    name: 'compliance',
    path: '/admin/compliance',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g c',
  }),
  page({
    name: 'report',
    path: '/admin/report',
    area: 'admin',
    roles: ['admin', 'auditor'],
    isInNavigation: true,
    keys: 'g i',
  }),
  page({ name: 'copies', path: '/admin/compliance/copies', area: 'admin', roles: ['admin', 'auditor'] }),
  page({ name: 'readings', path: '/admin/compliance/readings', area: 'admin', roles: ['admin', 'auditor'] }),
  page({ name: 'outbox', path: '/admin/outbox', area: 'admin', roles: ['admin'], isInNavigation: true, keys: 'g b' }),
] as const satisfies readonly PageEntry[]

export type PageName = (typeof pages)[number]['name']

export const pageNamed = (name: PageName): PageEntry => {
  const found = pages.find((entry) => entry.name === name)
  if (!found) throw new Error(`There is no page "${name}".`)
  return found
}
const isNamed = (part: string): boolean => part.startsWith('[')
/** Whether the path has dynamic segments. */
export const hasNames = ({ path }: PageEntry): boolean => path.split('/').some(isNamed)
/** The page at an address; undefined if there is none. A static segment has precedence over a dynamic one. */
export function pageAt(address: string): (PageEntry & { name: PageName }) | undefined {
  const given = (address.split(/[?#]/, 1)[0] ?? '').split('/')
  const fits = ({ path }: PageEntry) => {
    const parts = path.split('/')
    return parts.length === given.length && parts.every((part, at) => isNamed(part) || part === given[at])
  }
  return pages.find((entry) => !hasNames(entry) && fits(entry)) ?? pages.find(fits)
}
/** Whether this role may open the page; an undefined role is a signed-out visitor. */
export const mayOpen = ({ roles: open }: PageEntry, role: Role | undefined): boolean =>
  open === undefined || (role !== undefined && open.includes(role))

/** The pages in the navigation of an area for a role, in order. */
export const navigationOf = (area: Area, role: Role): (PageEntry & { name: PageName })[] =>
  pages.filter(
    (entry: PageEntry & { name: PageName }) => entry.area === area && entry.isInNavigation && mayOpen(entry, role),
  )
