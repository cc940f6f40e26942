import {
  Bot,
  Boxes,
  ChartNoAxesColumn,
  ClipboardCheck,
  ClockFading,
  Database,
  Download,
  FileChartColumn,
  FileClock,
  FolderKanban,
  Gavel,
  House,
  Inbox,
  KeyRound,
  Lightbulb,
  type LucideIcon,
  Mail,
  ReceiptText,
  ScanSearch,
  ScrollText,
  ShieldAlert,
  ShieldCheck,
  Trash2,
  User,
  UserCheck,
  Users,
} from 'lucide-react'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { navigationOf, type PageName } from './pages.ts'

export type NavigationGroup = 'yourData' | 'registry' | 'admin'
export interface NavigationEntry {
  /** The message key of its title in `pages`. */
  name: PageName | 'downloads'
  href: string
  Icon: LucideIcon
}

const icons: Partial<Record<NavigationEntry['name'], LucideIcon>> = {
  overview: House,
  privacy: User,
  downloads: Download,
  ownReceipts: ReceiptText,
  knowledge: Lightbulb,
  agents: Bot,
  projects: FolderKanban,
  tokens: KeyRound,
  members: Users,
  requests: Inbox,
  erasures: Trash2,
  deletionLog: FileClock,
  audit: ScrollText,
  retention: ClockFading,
  stores: Database,
  storeSearch: ScanSearch,
  tiers: ChartNoAxesColumn,
  users: Users,
  security: ShieldCheck,
  approvals: UserCheck,
  holds: Gavel,
  safety: ShieldAlert,
  compliance: ClipboardCheck,
  report: FileChartColumn,
  outbox: Mail,
}
const yourData: ReadonlySet<string> = new Set(['overview', 'privacy', 'ownReceipts'])
/** The tab of the page Privacy that the entry Downloads opens. */
const downloadTab = 'download'
export const downloadsHref = `/settings/privacy?tab=${downloadTab}#download`
const downloads: NavigationEntry = { name: 'downloads', href: downloadsHref, Icon: Download }

/** The groups of the sidebar for a role. Groups without pages are left out. */
export function navigationGroups(role: Role): { group: NavigationGroup; entries: NavigationEntry[] }[] {
  const entry = ({ name, path }: { name: PageName; path: string }): NavigationEntry => ({
    name,
    href: path,
    Icon: icons[name] ?? Boxes,
  })
  const you = navigationOf('you', role)
  const own = you.filter(({ name }) => yourData.has(name)).map(entry)
  return [
    // Downloads come after Privacy, of which they are a part.
    { group: 'yourData' as const, entries: own.flatMap((one) => (one.name === 'privacy' ? [one, downloads] : [one])) },
    { group: 'registry' as const, entries: you.filter(({ name }) => !yourData.has(name)).map(entry) },
    { group: 'admin' as const, entries: navigationOf('admin', role).map(entry) },
  ].filter(({ entries }) => entries.length > 0)
}

/** The entry of the page at this path, on this tab: the one with the longest matching address. */
export function currentEntry(
  role: Role,
  path: string,
  tab: string | null,
): { group: NavigationGroup; entry: NavigationEntry } | undefined {
  if (path === '/settings/privacy' && tab === downloadTab) return { group: 'yourData', entry: downloads }
  return navigationGroups(role)
    .flatMap(({ group, entries }) => entries.map((entry) => ({ group, entry })))
    .filter(({ entry: { href } }) => path === href || path.startsWith(`${href}/`))
    .sort((first, second) => second.entry.href.length - first.entry.href.length)[0]
}
