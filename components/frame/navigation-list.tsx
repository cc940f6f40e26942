'use client'

import { clsx } from 'clsx'
import { ChevronDown } from 'lucide-react'
import { usePathname, useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useId, useState } from 'react'
import { PageLink } from '#components/ui/page-link.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { countText } from './count-text.ts'
import { currentEntry, type NavigationEntry, type NavigationGroup, navigationGroups } from './navigation.ts'
import { useWaitingCounts, type WaitingCount } from './waiting-counts.ts'

function Count({ waiting: { count, isUrgent }, isNarrow }: { waiting: WaitingCount; isNarrow: boolean }) {
  const t = useTranslations('frame')
  const shown = countText(useTranslations('common'), count)
  return (
    <>
      <span
        aria-hidden
        className={clsx(
          isNarrow
            ? 'absolute top-1 right-1 size-2 rounded-full'
            : 'ml-auto rounded-full px-1.5 text-[0.8125rem] leading-5 font-medium tabular-nums',
          isUrgent ? 'bg-red text-on-red' : isNarrow ? 'bg-quiet' : 'bg-line text-ink',
        )}
      >
        {!isNarrow && shown}
      </span>
      <span className="sr-only">{t('waitingCount', { count, shown })}</span>
    </>
  )
}

interface EntryLinkProps {
  entry: NavigationEntry
  state: 'page' | 'section' | undefined
  waiting: WaitingCount | undefined
  isNarrow: boolean
}
function EntryLink({ entry: { name, href, Icon }, state, waiting, isNarrow }: EntryLinkProps) {
  const title = useTranslations('pages')(name)
  return (
    <PageLink
      href={href}
      title={isNarrow ? title : undefined}
      aria-current={state === 'page' ? 'page' : state && 'true'}
      className={clsx(
        'relative flex min-h-8 items-center gap-2.5 rounded-small px-2 text-sm',
        state ? 'bg-accent-wash font-medium text-ink' : 'text-quiet hover:bg-sunken hover:text-ink',
        isNarrow && 'justify-center',
      )}
    >
      <Icon aria-hidden className={clsx('size-4 shrink-0', state && 'text-accent')} />
      <span className={isNarrow ? 'sr-only' : 'min-w-0 truncate'}>{title}</span>
      {waiting && <Count waiting={waiting} isNarrow={isNarrow} />}
    </PageLink>
  )
}

function Group({
  group,
  isNarrow,
  children,
}: {
  group: NavigationGroup
  isNarrow: boolean
  children: React.ReactNode
}) {
  const t = useTranslations('frame.groups')
  const id = useId()
  const [isOpen, setIsOpen] = useState(true)
  const isShown = isOpen || isNarrow
  return (
    <div className="grid gap-0.5">
      {!isNarrow && (
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setIsOpen(!isOpen)}
          className="flex min-h-7 items-center justify-between gap-2 rounded-small px-2 text-[0.8125rem] font-medium text-quiet hover:bg-sunken hover:text-ink"
        >
          {t(group)}
          <ChevronDown aria-hidden className={clsx('size-3.5', !isOpen && '-rotate-90')} />
        </button>
      )}
      <ul id={id} aria-label={t(group)} className={clsx('grid gap-0.5', !isShown && 'hidden')}>
        {children}
      </ul>
    </div>
  )
}

/** The groups of the sidebar with their pages. `isNarrow` shows icons, with the titles on hover. */
export function NavigationList({ role, isNarrow = false }: { role: Role; isNarrow?: boolean }) {
  const path = usePathname()
  const groups = navigationGroups(role)
  const waiting = useWaitingCounts(groups.some(({ group }) => group === 'admin'))
  const current = currentEntry(role, path, useSearchParams().get('tab'))?.entry
  return (
    <div
      className={clsx(
        'grid content-start',
        isNarrow ? 'gap-3 divide-y divide-line [&>*:not(:last-child)]:pb-3' : 'gap-4',
      )}
    >
      {groups.map(({ group, entries }) => (
        <Group key={group} group={group} isNarrow={isNarrow}>
          {entries.map((entry) => (
            <li key={entry.name}>
              <EntryLink
                entry={entry}
                state={entry.name === current?.name ? (path === entry.href ? 'page' : 'section') : undefined}
                waiting={waiting[entry.name]}
                isNarrow={isNarrow}
              />
            </li>
          ))}
        </Group>
      ))}
    </div>
  )
}
