import { clsx } from 'clsx'
import { LinkStrip } from './link-strip.tsx'
import { PageLink } from './page-link.tsx'

interface Tab {
  href: string
  title: string
  /** A number, or its text. */
  count?: number | string
  isCurrent: boolean
}
/** Views of one page. They are links, so the address holds the state. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => (
  <LinkStrip
    label={label}
    current={tabs.find(({ isCurrent }) => isCurrent)?.href}
    className="gap-1 border-b border-line"
  >
    {tabs.map(({ href, title, count, isCurrent }) => (
      <PageLink
        key={href}
        href={href}
        aria-current={isCurrent ? 'page' : undefined}
        className={clsx(
          '-mb-px flex min-h-10 focus-visible:-outline-offset-2 items-center gap-1.5 border-b-2 px-3 whitespace-nowrap',
          isCurrent ? 'border-accent font-medium' : 'border-transparent text-quiet hover:text-ink',
        )}
      >
        {title}
        {count !== undefined && <span className="text-sm text-quiet tabular-nums">{count}</span>}
      </PageLink>
    ))}
  </LinkStrip>
)
